"""The commands of the README and of the API guide do what these say, run as they stand there."""

import json
import re
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from memoryapp.embedded.data_directory import DataDirectory
from tests.servers import hermetic_environment, migrated_directory
from tests.stack import running

PROJECT = Path(__file__).resolve().parent.parent.parent
README = (PROJECT / "README.md").read_text()
API_GUIDE = (PROJECT / "docs/api.md").read_text()
BLOCK = re.compile(r"^```sh\n(.*?)^```$", re.MULTILINE | re.DOTALL)
BETWEEN = "--- next block ---"


def section(heading: str) -> str:
    return re.split(r"^## ", README.split(f"\n## {heading}\n")[1], maxsplit=1, flags=re.MULTILINE)[0]


def documents(text: str) -> list[Any]:
    """The JSON documents that ``json.tool`` printed, in order."""
    return [json.loads(found) for found in re.findall(r"^\{\n.*?^\}$", text, re.MULTILINE | re.DOTALL)]


@pytest.fixture(scope="module")
def outputs() -> Iterator[list[str]]:
    """What each block prints, all run by one shell: "Use it from a program", then the guide, which goes on there."""
    if shutil.which("curl") is None:
        pytest.skip("the README's examples use curl")
    blocks = BLOCK.findall(section("Use it from a program")) + BLOCK.findall(API_GUIDE)
    script = "set -euo pipefail\n" + f"\necho '{BETWEEN}'\n".join(blocks)
    with migrated_directory() as directory, running(directory) as up:
        up.wait_until_ready()
        servers = DataDirectory(directory).running()
        done = subprocess.run(
            ["bash", "-c", script],
            check=False,
            cwd=PROJECT,
            env=hermetic_environment()
            | {
                "STRATA_URL": f"http://127.0.0.1:{up.port}",
                "DATABASE_URL": servers.database_url,
                "REDIS_URL": servers.redis_url,
            },
            capture_output=True,
            text=True,
        )
        assert done.returncode == 0, done.stdout + done.stderr
        yield done.stdout.split(BETWEEN)


@pytest.mark.stack
def test_a_reply_is_followed_to_its_end_and_read(outputs):
    events, (turn,) = outputs[1], documents(outputs[1])

    assert 'data: {"type": "start", "attempt": 1}' in events
    assert 'event: end\ndata: {"type": "end", "status": "completed"}' in events
    assert turn["status"] == "completed"
    assert turn["user_text"] == "I only drink green tea, never coffee."
    assert "green tea" in turn["reply"]


@pytest.mark.stack
def test_what_was_said_is_remembered_found_by_meaning_and_forgotten(outputs):
    before, after = documents(outputs[2])

    assert [memory["statement"] for memory in before["items"]] == ["I only drink green tea, never coffee."]
    assert after["items"] == []


@pytest.mark.stack
def test_the_guide_shows_a_posted_turn_a_resumed_stream_and_an_edit(outputs):
    posted, _, resumed, _, edited = outputs[3:]

    assert json.loads(posted)["status"] == "queued"
    assert "event: end" in resumed
    assert documents(edited)[0]["statement"] == "I live in Braga."
    assert documents(edited)[0]["version"] == 2


@pytest.mark.parametrize("block", BLOCK.findall(README) + BLOCK.findall(API_GUIDE))
def test_every_shell_block_is_a_shell_script(block):
    done = subprocess.run(["bash", "-n"], input=block, check=False, capture_output=True, text=True)

    assert done.stderr == ""
