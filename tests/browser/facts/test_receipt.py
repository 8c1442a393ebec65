"""Why a reply says what it says: what it was given, how well that fits, and what can be done about it."""

import re

import pytest
from playwright.sync_api import Locator, Page, expect

from tests.browser.chatting import new_chat, reply_of, wait_for_reply
from tests.browser.facts.reading import open_fact
from tests.browser.programs import Program

pytestmark = [pytest.mark.browser, pytest.mark.stack]


def asked(page: Page, question: str) -> Locator:
    """The turn of its reply, with the receipt open."""
    turn = new_chat(page, question)
    wait_for_reply(page, turn)
    return opened(page.locator("article.turn").last)


def opened(turn: Locator) -> Locator:
    turn.locator(".receipt > summary").click()
    expect(turn.locator(".receipt__list").first).to_be_visible()
    return turn


def item(turn: Locator, text: str) -> Locator:
    return turn.locator(".receipt__list > li", has_text=text)


def test_it_shows_the_parts_of_the_score_and_what_was_left_out(page: Page, program: Program, mark: str):
    program.remember(f"My atlas {mark} stands on the third shelf")
    for place in ("attic", "cellar", "garden"):
        program.remember(f"The {place} is cleaned in spring, not the shelf")

    turn = asked(page, f"On which shelf does my atlas {mark} stand?")

    expect(reply_of(turn)).to_contain_text("third shelf")
    used = item(turn, f"My atlas {mark}").first
    expect(used.locator(".receipt__scores")).to_contain_text(re.compile(r"\d"))
    expect(used.locator(".receipt__why").first).to_contain_text("Why:")
    turn.get_by_text("Also considered").click()
    left_out = turn.locator("[id^=considered-] li").first
    expect(left_out).to_contain_text("Left out:")
    expect(left_out.locator(".receipt__scores")).to_contain_text(re.compile(r"\d"))


def test_what_is_wrong_is_set_aside_and_comes_back(page: Page, program: Program, mark: str):
    fact_id = program.remember(f"My globe {mark} stands in the study")
    turn = asked(page, f"Where does my globe {mark} stand?")
    used = item(turn, f"My globe {mark}").first

    used.get_by_role("button", name="Wrong").click()

    used.get_by_role("button", name="Right after all").click()
    expect(used.get_by_role("button", name="Wrong")).to_be_visible()
    used.get_by_role("button", name="Wrong").click()
    expect(used.get_by_role("button", name="Right after all")).to_be_visible()
    open_fact(page, fact_id)
    expect(page.get_by_text("You said that this is wrong")).to_be_visible()


def test_what_is_forgotten_from_it_is_undone_there(page: Page, program: Program, mark: str):
    program.remember(f"My cello {mark} stands in the loft")
    turn = asked(page, f"Where does my cello {mark} stand?")
    used = item(turn, f"My cello {mark}").first

    used.locator(".receipt__forget > summary").click()
    used.get_by_role("button", name="Forget this memory").click()

    body = turn.locator(".receipt__body")
    expect(body.get_by_text("Forgotten.")).to_be_visible()
    expect(item(turn, f"My cello {mark}")).to_have_count(0)
    body.get_by_role("button", name="Undo").click()
    expect(item(turn, f"My cello {mark}").first).to_be_visible()


def test_answered_again_without_a_memory_the_reply_is_another_version(
    page: Page, program: Program, mark: str
):
    place = f"chapel {mark[::-1]}"
    program.remember(f"My harp {mark} stands in {place}")
    turn = asked(page, f"Where does my harp {mark} stand?")
    expect(reply_of(turn)).to_contain_text(place)

    item(turn, f"My harp {mark}").first.get_by_role("button", name="Answer again without this").click()

    expect(page.locator(".versions__place")).to_have_text("2/2")
    again = page.locator("article.turn").last
    wait_for_reply(page, again)
    expect(reply_of(again)).not_to_contain_text(place)
    opened(again)
    expect(again.locator(".receipt__body")).to_contain_text("Without, because you asked for it:")
    page.get_by_role("button", name="Show the previous version").click()
    expect(page.locator(".versions__place")).to_have_text("1/2")
    expect(reply_of(page.locator("article.turn").last)).to_contain_text(place)


def test_what_has_nothing_to_do_with_it_is_said_to(page: Page, program: Program, mark: str):
    program.remember(f"My lute {mark} stands in the barn")
    turn = asked(page, f"Where does my lute {mark} stand?")
    used = item(turn, f"My lute {mark}").first

    used.get_by_role("button", name="Not relevant").click()

    expect(used).to_contain_text("nothing to do with it")
    expect(used.get_by_role("button", name="Not relevant")).to_have_count(0)
