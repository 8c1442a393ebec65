"""Asked before a tool runs: what the person sees and says, and what comes of it, with an installed tool for notes."""

import json
import re
from collections.abc import Iterator
from pathlib import Path
from uuid import uuid4

import pytest
from playwright.sync_api import Browser, Locator, Page, expect

from tests.browser.chatting import new_chat, wait_for_reply
from tests.browser.conftest import PROVIDER_KEY, Installation, signed_in
from tests.browser.example_tool import install_example
from tests.modelserver import ModelServer, calls, reply
from tests.servers import migrated_directory
from tests.stack import running

pytestmark = [pytest.mark.browser, pytest.mark.stack]


@pytest.fixture(scope="module")
def notebook(tmp_path_factory) -> Path:
    """What ``send_note`` writes to."""
    return tmp_path_factory.mktemp("notes") / "notebook"


@pytest.fixture(scope="module")
def installation(notebook: Path, tmp_path_factory) -> Iterator[Installation]:
    """With the example tool installed. Silent streams reconnect every two seconds, as in a wait of hours."""
    packages = tmp_path_factory.mktemp("packages")
    install_example(packages)
    with ModelServer(api_key=PROVIDER_KEY, persona="memory") as provider, migrated_directory() as directory:
        environment = {
            "ANTHROPIC_API_KEY": PROVIDER_KEY,
            "ANTHROPIC_BASE_URL": provider.url,
            "PYTHONPATH": str(packages),
            "EXAMPLE_NOTEBOOK": str(notebook),
            "STRATA_STREAM_HEARTBEAT_S": "1",
        }
        with running(directory, **environment) as up:
            yield signed_in(up.url, up.wait_until_ready(), provider)


@pytest.fixture(autouse=True)
def empty_notebook(notebook: Path, installation: Installation) -> None:
    notebook.unlink(missing_ok=True)
    installation.provider.reset()


def _asks(page: Page, installation: Installation, note: str, *, then: str = "That is settled.") -> Locator:
    """A new chat whose assistant wants to send the note; the turn, when its question is on the screen."""
    about = f"About {uuid4().hex}"
    installation.provider.script(
        reply("I will leave Anna a note.", calls("send_note", text=note), contains=about),
        reply(then, contains=about),
    )
    turn = new_chat(page, about)
    expect(turn.get_by_role("heading", name="Allow this?")).to_be_visible()
    return turn


def _notes(notebook: Path) -> list[str]:
    lines = notebook.read_text().splitlines() if notebook.exists() else []
    return [json.loads(line)["text"] for line in lines]


def _last_results(installation: Installation) -> list[str]:
    """What the model read as results in its newest call that had some."""
    for call in reversed(installation.provider.calls):
        last = call.body["messages"][-1]["content"]
        results = [block for block in last if isinstance(block, dict) and block.get("type") == "tool_result"]
        if results:
            return [json.dumps(block["content"]) for block in results]
    return []


def test_a_call_is_shown_as_it_is_and_runs_once_when_it_is_approved(
    page: Page, installation: Installation, notebook: Path
):
    turn = _asks(page, installation, "Bring the <b>blue</b> folder")
    expect(turn.locator(".call")).to_contain_text("send_note from strata-example-tool")
    expect(turn.locator(".call__touches")).to_contain_text("The shared notebook.")
    expect(turn.locator(".call__why")).to_have_text("I will leave Anna a note.")
    expect(turn.locator(".args__text")).to_have_text("Bring the <b>blue</b> folder")
    expect(page.locator("#conversations [aria-current]")).to_contain_text("Asks you")
    assert _notes(notebook) == []

    turn.get_by_role("button", name="Approve once").click()

    assert "That is settled." in wait_for_reply(page, turn)
    assert _notes(notebook) == ["Bring the <b>blue</b> folder"]
    expect(page.locator("#conversations [aria-current]")).not_to_contain_text("Asks you")


def test_a_denial_by_keyboard_reaches_the_model_with_its_reason_and_nothing_runs(
    page: Page, installation: Installation, notebook: Path
):
    turn = _asks(page, installation, "Bring the blue folder")

    turn.get_by_label("Why not").focus()
    page.keyboard.type("Anna is on holiday")
    page.keyboard.press("Enter")

    wait_for_reply(page, turn)
    expect(turn.locator(".turn__after .tools")).to_contain_text("send_note · not run")
    assert _notes(notebook) == []
    assert "The user said no: Anna is on holiday" in _last_results(installation)[0]


def test_escape_neither_denies_nor_stops_and_a_reconnect_leaves_what_is_being_written(
    page: Page, installation: Installation, notebook: Path
):
    turn = _asks(page, installation, "Bring the blue folder")
    reason = turn.get_by_label("Why not")
    reason.fill("Anna is")

    page.keyboard.press("Escape")
    with page.expect_response(re.compile("/stream")):  # the connection was silent for too long
        pass
    page.keyboard.type(" on holiday")

    expect(reason).to_be_focused()
    expect(reason).to_have_value("Anna is on holiday")
    expect(turn.get_by_role("button", name="Approve once")).to_be_visible()
    assert _notes(notebook) == []


def test_what_is_allowed_always_is_not_asked_again_in_the_chat(
    page: Page, installation: Installation, notebook: Path
):
    turn = _asks(page, installation, "The first")
    turn.get_by_role("button", name="Always in this chat").click()
    wait_for_reply(page, turn)
    about = f"About {uuid4().hex}"
    installation.provider.script(
        reply(calls("send_note", text="The second"), contains=about), reply("Done.", contains=about)
    )

    page.get_by_label("Message", exact=True).fill(about)
    page.keyboard.press("Enter")

    expect(page.locator("article.turn")).to_have_count(2)
    wait_for_reply(page, page.locator("article.turn").last)
    assert _notes(notebook) == ["The first", "The second"]


def test_a_question_can_be_answered_on_another_device_and_every_page_goes_on(
    page: Page, installation: Installation, notebook: Path
):
    turn = _asks(page, installation, "Bring the blue folder")
    page.wait_for_url(re.compile("/c/"))
    other = page.context.new_page()
    other.goto(page.url)

    other.get_by_role("button", name="Approve once").click()

    for tab in (other, page):
        assert "That is settled." in wait_for_reply(tab, tab.locator("article.turn").last)
    expect(turn.locator("[data-waits]")).to_have_count(0)
    assert _notes(notebook) == ["Bring the blue folder"]
    other.close()


def test_a_question_can_be_answered_without_scripts(
    page: Page, installation: Installation, chromium: Browser, notebook: Path
):
    _asks(page, installation, "Bring the blue folder")
    page.wait_for_url(re.compile("/c/"))
    context = chromium.new_context(
        base_url=installation.url, storage_state=installation.storage_state, java_script_enabled=False
    )
    plain = context.new_page()
    plain.goto(page.url)

    plain.get_by_role("button", name="Approve once").click()

    expect(plain.locator("article.turn[data-status=completed]")).to_contain_text("That is settled.")
    assert _notes(notebook) == ["Bring the blue folder"]
    context.close()


def test_a_turn_that_waits_for_an_answer_can_be_stopped(
    page: Page, installation: Installation, notebook: Path
):
    turn = _asks(page, installation, "Bring the blue folder")

    turn.get_by_role("button", name="Stop").click()

    expect(turn).to_contain_text("You stopped this reply.", timeout=1_500)
    expect(turn.locator(".reply")).to_contain_text("I will leave Anna a note.")
    assert _notes(notebook) == []


def test_a_call_that_failed_is_not_made_again_and_the_reply_shows_it(page: Page, installation: Installation):
    about = f"About {uuid4().hex}"
    fails = calls("calculate", expression="1 / 0")
    installation.provider.script(
        reply(fails, contains=about),
        reply(fails, contains=about),
        reply("It cannot be done.", contains=about),
    )

    turn = new_chat(page, about)

    wait_for_reply(page, turn)
    chips = turn.locator(".turn__after .tools li")
    expect(chips).to_have_text([re.compile(r"calculate\s+· failed"), re.compile(r"calculate\s+· not run")])
