"""Forgetting and taking one's data along, as a person does both: wide and on a phone."""

import json
from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Browser, BrowserContext, Page, expect

from tests.browser.chatting import new_chat, say, wait_for_reply
from tests.browser.conftest import WITH_BOTH, Installation
from tests.browser.programs import Program

pytestmark = [pytest.mark.browser, pytest.mark.stack, *WITH_BOTH]

CHECKED_FOR_S = 60


@pytest.fixture
def program(context: BrowserContext, installation: Installation) -> Program:
    return Program.in_session_of(context, installation.url)


@pytest.fixture(autouse=True)
def _nothing_is_known(program: Program) -> None:
    """The installation is shared with others."""
    program.forget_all()


@pytest.fixture
def page(page: Page) -> Iterator[Page]:
    """Nothing sticks out to the side of the page on which a test ends."""
    yield page
    assert page.evaluate("document.documentElement.scrollWidth <= document.documentElement.clientWidth")


def statements(program: Program) -> set[str]:
    return set(program.statements())


def test_a_kind_is_forgotten_after_a_look_and_comes_back_from_its_receipt(page: Page, program: Program):
    program.remember("I like figs", kind="preference")
    program.remember("I met Ada", kind="event")
    page.goto("/memory/")
    page.get_by_role("link", name="Forget…").click()

    page.get_by_label("Kind", exact=True).select_option("preference")
    page.get_by_role("button", name="Show what would go").first.click()
    expect(page.get_by_text("I like figs")).to_be_visible()
    page.get_by_role("button", name="can be undone for 10 minutes").click()

    expect(page.get_by_role("heading", name="Forgotten", exact=True)).to_be_visible()
    expect(page.get_by_role("cell", name="Gone since").first).to_be_visible()
    assert statements(program) == {"I met Ada"}

    page.get_by_role("button", name="Undo").click()
    expect(page.get_by_role("heading", name="Forgotten, and brought back")).to_be_visible()
    assert statements(program) == {"I like figs", "I met Ada"}


def test_a_conversation_is_forgotten_with_what_was_learned_from_it(page: Page, program: Program):
    turn = new_chat(page, "I live in Lisbon.")
    wait_for_reply(page, turn)
    expect(turn.locator(".remembered > li").first).to_contain_text("Lisbon")
    conversation_id = page.url.rstrip("/").rpartition("/")[2]
    page.goto(f"/memory/conversations/{conversation_id}/")

    page.get_by_role("link", name="Delete, and forget what was learned").click()
    expect(page.get_by_text("1 conversation")).to_be_visible()
    page.get_by_role("button", name="Forget · can be undone").press("Enter")  # by keyboard alone

    expect(page.get_by_role("heading", name="Forgotten", exact=True)).to_be_visible()
    assert statements(program) == set()
    assert page.request.get(f"/c/{conversation_id}/").status == 404


def test_a_fact_forgotten_in_the_middle_of_a_chat_is_in_no_later_prompt_and_answer(
    page: Page, installation: Installation
):
    turn = new_chat(page, "My favourite colour is vermilion.")
    wait_for_reply(page, turn)
    learned = turn.locator(".remembered > li").first
    expect(learned).to_contain_text("vermilion")
    chat = page.url
    page.goto("/memory/facts/")
    page.locator("a.fact", has_text="vermilion").click()
    page.get_by_role("link", name="Forget it, and where you said it").click()
    expect(page.get_by_text("This cannot be undone.")).to_be_visible()

    page.get_by_role("button", name="Forget for good").click()

    expect(page.get_by_role("heading", name="Forgotten", exact=True)).to_be_visible()
    expect(page.locator("body")).not_to_contain_text("vermilion")
    before = len(installation.provider.requests) if installation.provider else 0
    page.goto(chat)
    answer = wait_for_reply(page, say(page, "Which colour do I like best?"))
    assert "vermilion" not in answer.casefold()
    if installation.provider:
        asked = installation.provider.requests[before:]
        assert asked
        assert not any("vermilion" in json.dumps(one.body).casefold() for one in asked)


def test_everything_is_taken_along_and_looked_at_again(page: Page, program: Program, tmp_path: Path):
    program.remember("I like figs", kind="preference")
    page.goto("/memory/data/")
    with page.expect_download() as download:
        page.get_by_role("button", name="Download everything").click()
    archive = tmp_path / "strata.zip"
    download.value.save_as(archive)
    program.remember("I like plums", kind="preference")

    page.get_by_label("File").set_input_files(archive)
    page.get_by_role("button", name="Read the file").click()

    expect(page.get_by_role("heading", name="What is in it")).to_be_visible(timeout=CHECKED_FOR_S * 1000)
    expect(page.get_by_role("heading", name="Import from Strata")).to_be_visible()
    expect(page.get_by_role("row", name="Known already")).to_be_visible()


def test_a_file_of_another_chat_is_brought_in_and_taken_back(page: Page, program: Program, tmp_path: Path):
    file = tmp_path / "mem0.json"
    rows = [{"id": "1", "memory": "Likes quinces", "created_at": "2026-11-01T10:00:00Z"}]
    file.write_text(json.dumps({"results": rows}))
    page.goto("/memory/data/")
    page.get_by_label("File").set_input_files(file)
    page.get_by_role("button", name="Read the file").click()

    page.get_by_role("button", name="Bring in 1 entry").click(timeout=CHECKED_FOR_S * 1000)
    expect(page.get_by_role("button", name="Undo this import")).to_be_visible(timeout=CHECKED_FOR_S * 1000)
    there = statements(program)
    page.get_by_role("button", name="Undo this import").click()
    page.get_by_role("link", name="See the receipt").click()

    expect(page.get_by_role("heading", name="An import from mem0")).to_be_visible()
    assert there == {"Likes quinces"}
    assert statements(program) == set()


def test_without_scripts_it_is_forgotten_and_undone_just_so(
    chromium: Browser, installation: Installation, program: Program
):
    program.remember("I like figs", kind="preference")
    context = chromium.new_context(
        base_url=installation.url, storage_state=installation.storage_state, java_script_enabled=False
    )
    page = context.new_page()
    page.goto("/memory/forget/?scope=kind&id=preference")

    page.get_by_role("button", name="Forget · can be undone").click()
    gone = statements(program)
    page.get_by_role("button", name="Undo").click()

    expect(page.get_by_text("It is back.")).to_be_visible()
    assert (gone, statements(program)) == (set(), {"I like figs"})
    context.close()
