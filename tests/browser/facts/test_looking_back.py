"""What was known on an earlier day, and who did what with it since."""

import csv
from collections.abc import Callable

import pytest
from playwright.sync_api import Page, expect

from tests.browser.facts.reading import open_fact, row
from tests.browser.programs import Program

pytestmark = [pytest.mark.browser, pytest.mark.stack]

SetBack = Callable[[str], None]


def test_a_chosen_day_shows_the_facts_in_the_words_of_then(
    page: Page, program: Program, set_back: SetBack, mark: str
):
    old_id = program.remember(f"My office {mark} is on floor two")
    set_back(old_id)
    program.remember(f"My garage {mark} is full")
    open_fact(page, old_id)
    page.get_by_role("link", name="Edit", exact=True).click()
    page.get_by_label("Statement").fill(f"My office {mark} is on floor nine")
    page.keyboard.press("Enter")
    expect(page.locator("h1")).to_contain_text("floor nine")
    page.goto("/memory/facts/")
    page.get_by_role("link", name="On an earlier day").click()

    page.get_by_role("link", name="A month ago").click()

    then = row(page, mark)
    expect(then).to_have_count(1)
    expect(then.locator(".fact__statement")).to_have_text(f"My office {mark} is on floor two")
    expect(then.locator("ins")).to_contain_text("nine")
    day = page.get_by_label("Day", exact=True)
    day.fill("2020-02-02")
    page.get_by_role("button", name="Show that day").click()
    expect(page.locator("h1")).to_have_text("Facts on 2 February 2020")
    expect(page.get_by_text("Nothing was remembered that day")).to_be_visible()


def test_the_log_is_filtered_and_saved_as_a_file_of_what_is_shown(
    page: Page, program: Program, mark: str, tmp_path
):
    fact_id = program.remember(f"My violin is at {mark}")
    program.read(fact_id)
    page.goto("/memory/activity/")

    page.get_by_label("Who", exact=True).select_option("program")
    page.get_by_label("Where", exact=True).select_option("longterm")
    page.get_by_role("button", name="Show", exact=True).click()

    entries = page.locator(".activity-row")
    expect(entries.first).to_contain_text("Calendar sync")
    assert entries.count() == entries.filter(has_text="Calendar sync").count()
    expect(page.get_by_text(f"My violin is at {mark}")).to_have_count(0)
    with page.expect_download() as saved:
        page.get_by_role("link", name="CSV").click()
    saved.value.save_as(tmp_path / "log.csv")
    rows = list(csv.DictReader((tmp_path / "log.csv").read_text().splitlines()))
    assert {row["actor"] for row in rows} == {"program"}
    assert fact_id in {row["subject_id"] for row in rows}
    assert mark not in (tmp_path / "log.csv").read_text()
