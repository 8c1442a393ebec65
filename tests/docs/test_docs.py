"""The documentation names what there is, and what it names is there."""

import hashlib
import re
import subprocess
from pathlib import Path

import pytest
from django.core.management import get_commands

from memoryapp.longterm import queries as memories

PROJECT = Path(__file__).resolve().parent.parent.parent
PAGES = sorted([*PROJECT.glob("*.md"), *(PROJECT / "docs").rglob("*.md")])
EVERYTHING = "\n".join(page.read_text() for page in PAGES)
LINK = re.compile(r"!?\[[^\]]*\]\(([^)\s]+)\)")
OUR_PATH = re.compile(r"`((?:memoryapp|chat|tests|docs|static)/[\w./-]+)`")
OUR_TEST = re.compile(r"`(tests/[\w/]+\.py)::(\w+)`")
FENCED = re.compile(r"^```.*?^```$", re.MULTILINE | re.DOTALL)
SETTING = re.compile(r"^\| `([A-Z_]+)` \| (.+?) \|", re.MULTILINE)


def name(page: Path) -> str:
    return page.relative_to(PROJECT).as_posix()


def anchors(page: Path) -> set[str]:
    """The ids that headings get on the usual hosts."""
    headings = re.findall(r"^#+ (.+)$", page.read_text(), re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", heading).strip().lower().replace(" ", "-") for heading in headings}


def make_targets() -> list[str]:
    return re.findall(r"^([a-z][a-z-]*):", (PROJECT / "Makefile").read_text(), re.MULTILINE)


def commands() -> list[str]:
    return [path.stem for path in (PROJECT / "memoryapp/management/commands").glob("[!_]*.py")]


def packages() -> list[str]:
    rooms = [path.parent.name for path in (PROJECT / "memoryapp").glob("*/__init__.py")]
    modules = ["nudges", "rest", "redis_client", "conf", "errors"]
    return [f"memoryapp.{room}" for room in [*rooms, *modules]] + ["chat"]


@pytest.mark.parametrize("page", PAGES, ids=name)
def test_links_lead_somewhere(page):
    for target in LINK.findall(FENCED.sub("", page.read_text())):
        if target.startswith(("https://", "mailto:")):
            continue
        path, _, anchor = target.partition("#")
        linked = (page.parent / path).resolve() if path else page
        assert linked.exists(), target
        if anchor:
            assert anchor in anchors(linked), target


@pytest.mark.parametrize("page", PAGES, ids=name)
def test_files_that_are_named_exist(page):
    assert [path for path in OUR_PATH.findall(page.read_text()) if not (PROJECT / path).exists()] == []


@pytest.mark.parametrize("page", PAGES, ids=name)
def test_tests_that_are_named_exist(page):
    missing = [
        test
        for path, test in OUR_TEST.findall(page.read_text())
        if not re.search(rf"^ *def {test}\(", (PROJECT / path).read_text(), re.MULTILINE)
    ]

    assert missing == []


@pytest.mark.parametrize("package", packages())
def test_every_package_is_on_the_map(package):
    assert f"`{package}`" in (PROJECT / "ARCHITECTURE.md").read_text()


@pytest.mark.parametrize("target", make_targets())
def test_every_make_target_is_named(target):
    assert re.search(rf"\bmake {target}\b", EVERYTHING)


@pytest.mark.parametrize("command", commands())
def test_every_management_command_is_named(command):
    assert re.search(rf"(manage\.py |`){command}\b", EVERYTHING)


@pytest.mark.parametrize("page", PAGES, ids=name)
def test_no_management_command_is_named_that_does_not_exist(page):
    named = re.findall(r"\bmanage\.py ([a-z_]\w*)", page.read_text())

    assert set(named) <= set(get_commands())


def test_make_help_lists_every_target():
    listed = subprocess.run(
        ["make", "--no-print-directory", "help"], check=True, cwd=PROJECT, capture_output=True, text=True
    ).stdout

    assert set(re.findall(r"^  make ([a-z-]+) ", listed, re.MULTILINE)) == set(make_targets())


def test_no_make_target_is_named_that_does_not_exist():
    shell = "\n".join(FENCED.findall(EVERYTHING))

    named = set(re.findall(r"`make ([a-z-]+)", EVERYTHING)) | set(re.findall(r"\bmake ([a-z-]+)", shell))

    assert named <= set(make_targets())


def test_the_readme_has_the_defaults_of_the_configuration():
    configuration = dict(SETTING.findall((PROJECT / "docs/configuration.md").read_text()))

    shown = SETTING.findall((PROJECT / "README.md").read_text())

    assert len(shown) == 10
    assert dict(shown) == {variable: configuration[variable] for variable, _ in shown}


@pytest.mark.django_db
def test_the_kinds_of_a_new_installation_are_documented_with_their_reasons():
    page = (PROJECT / "docs/memory.md").read_text()

    for kind in memories.kinds():
        days = f"{kind.ttl_days} day{'s' if kind.ttl_days > 1 else ''}" if kind.ttl_days else "for ever"
        assert f"| `{kind.slug}` | {kind.label} | {days} | {kind.rationale} |" in page


def test_every_error_code_of_the_api_guide_exists():
    page = (PROJECT / "docs/api.md").read_text()
    source = "\n".join(path.read_text() for path in Path(PROJECT / "memoryapp").rglob("*.py"))

    for code in re.findall(r"`((?:\w+_)+\w+|forgotten)`", page.split("## Errors")[1]):
        assert f'"{code}"' in source or f"{code}=" in source, code


def test_the_wheel_of_pip_is_the_published_one():
    (wheel,) = (PROJECT / ".bootstrap").glob("*.whl")

    page = (PROJECT / "docs/third-party.md").read_text()

    assert f"`.bootstrap/{wheel.name}`" in page
    assert hashlib.sha256(wheel.read_bytes()).hexdigest() in page


def test_every_decision_is_in_the_index():
    index = (PROJECT / "docs/adr/README.md").read_text()
    decisions = {path.name for path in (PROJECT / "docs/adr").glob("0*.md")}

    assert set(LINK.findall(index)) == decisions


def test_every_page_can_be_found_from_the_index():
    index = (PROJECT / "docs/README.md").read_text()
    pages = {page.name for page in (PROJECT / "docs").glob("*.md")} - {"README.md"}

    assert pages <= set(LINK.findall(index))
