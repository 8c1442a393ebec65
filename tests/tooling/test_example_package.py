"""The example package of the documentation, installed as anyone would install it."""

import json
import subprocess
import sys
import tomllib
from dataclasses import replace
from datetime import UTC, datetime
from importlib import invalidate_caches
from pathlib import Path
from uuid import UUID
from zipfile import ZipFile

import pytest
from pydantic import ValidationError

from memoryapp.errors import MemoryAppError
from memoryapp.llm.base import Cancellation
from memoryapp.tooling.base import ToolContext
from memoryapp.tooling.registry import added_tools
from tests.servers import hermetic_environment

PROJECT = Path(__file__).resolve().parents[2]
CONTEXT = ToolContext(
    user_id=UUID(int=1),
    conversation_id=UUID(int=2),
    run_id=UUID(int=3),
    tool_use_id="call_1",
    time_zone="UTC",
    now=datetime(2027, 3, 1, tzinfo=UTC),
    epoch_at_start=0,
    cancellation=Cancellation(),
)


def wheel(source: Path, directory: Path) -> Path:
    """What a build backend would make of the project: none is at hand without the network."""
    project = tomllib.loads((source / "pyproject.toml").read_text())
    name, version = project["project"]["name"], project["project"]["version"]
    stem = f"{name.replace('-', '_')}-{version}"
    entry_points = [
        line
        for group, entries in project["project"]["entry-points"].items()
        for line in [f"[{group}]", *(f"{entry} = {value}" for entry, value in entries.items())]
    ]
    files = {
        f"{module}.py": (source / f"{module}.py").read_text()
        for module in project["tool"]["setuptools"]["py-modules"]
    } | {
        f"{stem}.dist-info/METADATA": f"Metadata-Version: 2.1\nName: {name}\nVersion: {version}\n",
        f"{stem}.dist-info/WHEEL": "Wheel-Version: 1.0\nRoot-Is-Purelib: true\nTag: py3-none-any\n",
        f"{stem}.dist-info/entry_points.txt": "\n".join([*entry_points, ""]),
    }
    record = "".join(f"{path},,\n" for path in [*files, f"{stem}.dist-info/RECORD"])
    path = directory / f"{stem}-py3-none-any.whl"
    with ZipFile(path, "w") as archive:
        for name, text in (files | {f"{stem}.dist-info/RECORD": record}).items():
            archive.writestr(name, text)
    return path


@pytest.fixture(scope="module")
def installed(tmp_path_factory) -> Path:
    """Installed into a directory of its own, without the network."""
    work = tmp_path_factory.mktemp("example")
    (pip,) = (PROJECT / ".bootstrap").glob("pip-*.whl")
    options = ["--no-deps", "--no-index", "--no-cache-dir", "--quiet", "--target", work / "site"]
    subprocess.run(
        [sys.executable, pip / "pip", "install", *options, wheel(PROJECT / "docs" / "example-tool", work)],
        check=True,
        capture_output=True,
        env=hermetic_environment(),
    )
    return work / "site"


@pytest.fixture
def tools(installed, monkeypatch):
    monkeypatch.syspath_prepend(installed)
    invalidate_caches()
    added_tools.cache_clear()
    yield {tool.name: tool for tool in added_tools()}
    added_tools.cache_clear()
    sys.modules.pop("strata_example_tool", None)


def test_its_tools_are_found_with_their_marks(tools):
    marks = {
        name: (tool.source, tool.needs_approval, tool.side_effects, tool.is_idempotent, tool.is_volatile)
        for name, tool in tools.items()
    }

    assert marks == {
        "roll_dice": ("strata-example-tool", False, False, False, True),
        "send_note": ("strata-example-tool", True, True, True, False),
    }


def test_the_dice_fall_within_their_sides(tools):
    dice = tools["roll_dice"]

    rolled = json.loads(dice.run(dice.checked({"dice": 20, "sides": 3}), CONTEXT).content)

    assert len(rolled["rolled"]) == 20
    assert set(rolled["rolled"]) <= {1, 2, 3}
    assert rolled["sum"] == sum(rolled["rolled"])


@pytest.mark.parametrize("wrong", [{"dice": 0}, {"dice": 21}, {"dice": "2"}, {"sides": 1}, {"colour": "red"}])
def test_wrong_arguments_are_refused(tools, wrong):
    with pytest.raises(ValidationError):
        tools["roll_dice"].checked(wrong)


def test_a_note_is_written_once_however_often_the_call_is_repeated(tools, tmp_path, monkeypatch):
    notebook = tmp_path / "notebook.jsonl"
    monkeypatch.setenv("EXAMPLE_NOTEBOOK", str(notebook))
    note = tools["send_note"]
    arguments = note.checked({"text": "Buy tea"})

    for context in (CONTEXT, CONTEXT, replace(CONTEXT, tool_use_id="call_2")):
        note.run(arguments, context)

    assert [json.loads(line)["text"] for line in notebook.read_text().splitlines()] == ["Buy tea", "Buy tea"]


def test_without_a_notebook_the_model_is_told_why(tools, monkeypatch):
    monkeypatch.delenv("EXAMPLE_NOTEBOOK", raising=False)
    note = tools["send_note"]

    with pytest.raises(MemoryAppError, match="name a file in EXAMPLE_NOTEBOOK"):
        note.run(note.checked({"text": "Buy tea"}), CONTEXT)


def test_the_guide_shows_the_module_as_it_is():
    guide = (PROJECT / "docs" / "tools.md").read_text()
    module = (PROJECT / "docs" / "example-tool" / "strata_example_tool.py").read_text()
    entry_point = '[project.entry-points."strata.tools"]\nexample = "strata_example_tool:tools"'

    assert entry_point in guide
    assert entry_point in (PROJECT / "docs" / "example-tool" / "pyproject.toml").read_text()
    assert guide.split("```python\n")[1].split("```")[0] in module
