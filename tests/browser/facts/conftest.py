"""One installation for all tests of facts, with a program beside the browser; each test has facts of its own."""

import itertools
import subprocess
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path

import psycopg
import pytest
from playwright.sync_api import Browser, BrowserContext, Page

from memoryapp.embedded.data_directory import DataDirectory
from tests.browser.conftest import Installation, signed_in
from tests.browser.programs import Program
from tests.servers import hermetic_environment, migrated_directory
from tests.stack import PROJECT, Up, running

NUMBERS = itertools.count(1)
KINDS = (
    {"slug": "asked", "label": "Asked first", "needs_confirmation": True},
    {"slug": "brief", "label": "Brief things", "ttl_days": 3},
)
TWO_MONTHS_OLDER = (
    """UPDATE longterm_memory SET recorded_at = recorded_at - interval '60 days',
    said_at = said_at - interval '60 days', valid_from = valid_from - interval '60 days' WHERE id = %s""",
    "UPDATE longterm_memoryversion SET recorded_at = recorded_at - interval '60 days' WHERE memory_id = %s",
)
# Of every page that is visited: whether something sticks out to the side when it came or when it was left.
NOTE_OVERFLOW = """
window.noteOverflow = () => {
  const {scrollWidth, clientWidth} = document.documentElement;
  if (scrollWidth > clientWidth) sessionStorage.wide = `${sessionStorage.wide ?? ""} ${location.pathname}`;
};
addEventListener("load", noteOverflow);
addEventListener("pagehide", noteOverflow);
"""


@dataclass(frozen=True, slots=True)
class Started:
    directory: Path
    up: Up
    link: str


@pytest.fixture(scope="package")
def started() -> Iterator[Started]:
    with migrated_directory() as directory, running(directory) as up:
        yield Started(directory, up, up.wait_until_ready())


@pytest.fixture(scope="package")
def installation(started: Started) -> Installation:
    return signed_in(started.up.url, started.link)


@pytest.fixture(scope="package")
def program(started: Started) -> Program:
    """A program of the first account, which is an admin; it has added two kinds."""
    command = [sys.executable, "manage.py", "create_token", "admin", "--name", "Calendar sync"]
    done = subprocess.run(
        [*command, "--data-dir", str(started.directory)],
        check=True,
        cwd=PROJECT,
        env=hermetic_environment(),
        stdout=subprocess.PIPE,
        text=True,
    )
    program = Program.with_token(started.up.url, done.stdout.splitlines()[-1])
    for kind in KINDS:
        program.add_kind(**kind)
    return program


@pytest.fixture
def set_back(started: Started) -> Callable[[str], None]:
    """Of a memory's id: it has been known for two months."""

    def set_back(memory_id: str) -> None:
        running = DataDirectory(started.directory).running()
        with psycopg.connect(running.database_url) as connection:
            for statement in TWO_MONTHS_OLDER:
                connection.execute(statement, [memory_id])

    return set_back


@pytest.fixture
def mark() -> str:
    """A word that no other test says, nor one like it."""
    digest = sha256(str(next(NUMBERS)).encode()).digest()
    return "".join(chr(ord("a") + byte % 26) for byte in digest[:9])


@pytest.fixture
def context(context: BrowserContext) -> BrowserContext:
    context.add_init_script(NOTE_OVERFLOW)
    return context


@pytest.fixture
def page(page: Page) -> Iterator[Page]:
    """Nothing of any page sticks out to the side."""
    yield page
    page.evaluate("noteOverflow()")
    assert page.evaluate("sessionStorage.wide ?? ''") == ""


@pytest.fixture
def plain(chromium: Browser, installation: Installation) -> Iterator[Page]:
    """A page without scripts."""
    context = chromium.new_context(
        viewport={"width": 390, "height": 844},
        base_url=installation.url,
        storage_state=installation.storage_state,
        java_script_enabled=False,
    )
    yield context.new_page()
    context.close()
