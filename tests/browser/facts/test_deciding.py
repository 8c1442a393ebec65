"""What waits for a word, what ends, and what may be twice: each answered where it is listed."""

from dataclasses import dataclass

import pytest
from playwright.sync_api import Locator, Page, expect

from tests.browser.facts.reading import notice, reload_until, row, undo
from tests.browser.programs import Program

pytestmark = [pytest.mark.browser, pytest.mark.stack]

PENDING = "/memory/pending/"
EXPIRING = "/memory/expiring/"


def card(page: Page, mark: str) -> Locator:
    return page.locator("[data-waiting]", has_text=mark)


def decided(page: Page) -> Locator:
    """What stands in the place of the card that was answered."""
    return page.locator("[data-decided]").first


def contradict(program: Program, mark: str) -> None:
    """What is in use, and what waits because it does not fit."""
    program.remember(f"My bank {mark} is Nova", key=f"bank.{mark}")
    program.remember(f"My bank {mark} is Orion", kind="asked", key=f"bank.{mark}")


@dataclass(frozen=True, slots=True)
class Answer:
    """``in_use``: the banks that are known afterwards."""

    button: str
    said: str
    in_use: frozenset[str]


ANSWERS = (
    Answer("It is now:", "Remembered", frozenset({"Orion"})),
    Answer("Keep:", "What was in use stays.", frozenset({"Nova"})),
    Answer("Both are true", "Remembered beside what was in use", frozenset({"Nova", "Orion"})),
    Answer("Forget both", "Forgotten, both of them", frozenset()),
)


@pytest.mark.parametrize("answer", ANSWERS, ids=lambda answer: answer.button)
def test_every_answer_to_what_does_not_fit_is_done_in_place_and_undone(
    page: Page, program: Program, mark: str, answer: Answer
):
    contradict(program, mark)
    page.goto(PENDING)
    expect(card(page, mark)).to_contain_text(f"My bank {mark} is Nova")

    card(page, mark).get_by_role("button", name=answer.button).click()

    expect(decided(page)).to_contain_text(answer.said)
    assert banks(program, mark) == answer.in_use
    decided(page).get_by_role("button", name="Undo").click()
    expect(card(page, mark)).to_be_visible()
    assert banks(program, mark) == {"Nova"}


def banks(program: Program, mark: str) -> set[str]:
    return {said.rpartition(" ")[2] for said in program.statements() if f"My bank {mark}" in said}


def test_cards_are_answered_by_keyboard_alone(page: Page, program: Program, mark: str):
    contradict(program, f"one{mark}")
    contradict(program, f"two{mark}")
    page.goto(PENDING)

    card(page, f"two{mark}").focus()
    page.keyboard.press("1")

    expect(decided(page)).to_contain_text("Remembered")
    expect(card(page, f"one{mark}")).to_be_focused()
    page.keyboard.press("2")
    expect(page.locator("[data-decided]")).to_have_count(2)
    assert banks(program, f"two{mark}") == {"Orion"}
    assert banks(program, f"one{mark}") == {"Nova"}


def test_what_ends_soon_is_kept_or_let_go_where_it_is_listed(page: Page, program: Program, mark: str):
    for thing in ("tram", "train", "ferry"):
        program.remember(f"The {thing} of {mark} leaves at nine", kind="brief")
    page.goto(EXPIRING)
    expect(row(page, mark)).to_have_count(3)

    row(page, f"tram of {mark}").get_by_role("button", name="Keep").click()
    expect(notice(page)).to_contain_text("Kept for ever")
    expect(row(page, mark)).to_have_count(2)
    expect(row(page, f"train of {mark}").get_by_role("button", name="Extend")).to_have_count(0)
    row(page, f"ferry of {mark}").get_by_role("button", name="Let go").click()
    expect(notice(page)).to_contain_text("Forgotten.")
    expect(row(page, mark)).to_have_count(1)
    undo(page)

    expect(row(page, mark)).to_have_count(2)
    expect(row(page, f"ferry of {mark}")).to_be_visible()


def test_picked_ones_that_end_soon_are_kept_together(page: Page, program: Program, mark: str):
    for thing in ("kite", "boat"):
        program.remember(f"The {thing} of {mark} is lent", kind="brief")
    page.goto(EXPIRING)

    page.get_by_label(f"Pick: The kite of {mark}").check()
    page.get_by_label(f"Pick: The boat of {mark}").check()
    page.locator("#ending").get_by_role("button", name="Keep for ever").click()

    expect(notice(page)).to_contain_text("2 facts")
    expect(row(page, mark)).to_have_count(0)


def test_of_two_facts_that_say_the_same_one_is_kept(page: Page, program: Program, mark: str):
    name = mark.title()  # of another name, facts never say the same
    better = f"I am allergic to {name} nuts and seeds"
    program.remember(better)
    program.remember(f"I have an allergy to {name} nuts and seeds")
    page.goto("/memory/health/")
    pair = page.locator(".pair", has_text=mark)
    reload_until(page, pair)

    side = pair.locator(".pair__side", has=page.get_by_role("link", name=better))
    side.get_by_role("button", name="Keep this one").click()

    expect(notice(page)).to_contain_text("Forgotten.")
    expect(pair).to_have_count(0)
    page.goto(f"/memory/facts/?q={mark}")
    expect(row(page, mark)).to_have_count(1)
    expect(row(page, better)).to_be_visible()
