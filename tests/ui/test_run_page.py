"""The page of a run in a real Chromium while the run goes on: laid over what is there, and left alone in the end."""

from datetime import UTC, datetime
from uuid import UUID

import pytest
from django.urls import reverse
from playwright.sync_api import expect

from memoryapp.inspector.runs.run_heads import RunHead
from memoryapp.inspector.runs.run_presentation import RunPage
from memoryapp.inspector.runs.step_presentation import StepRow, StepText
from tests.ui.pages import render
from tests.ui.stand_in import StandIn

pytestmark = pytest.mark.browser

RUN_ID = UUID(int=4)
PAGE = reverse("inspector:run", args=[RUN_ID])
LIVE = reverse("inspector:run_live", args=[RUN_ID])


@pytest.fixture
def server():
    with StandIn() as stand_in:
        stand_in.answers[PAGE] = lambda _: (200, page_html(steps=1))
        stand_in.answers[LIVE] = lambda _: (204, "")
        yield stand_in


@pytest.fixture
def page(chromium, server):
    context = chromium.new_context(viewport={"width": 1280, "height": 700}, base_url=server.url)
    page = context.new_page()
    refused = []
    page.on("console", lambda message: refused.append(message.text) if "Policy" in message.text else None)
    yield page
    context.close()
    assert refused == []


def test_what_a_reader_opened_and_scrolled_stays_as_it_is(page, server):
    page.goto(PAGE)
    page.locator("#step-1 > summary").click()
    page.locator("#step-1 pre").last.evaluate("(box) => (box.scrollTop = 90)")

    server.answers[LIVE] = lambda _: (200, record_html(steps=2))
    expect(page.locator("#step-2")).to_have_count(1)

    expect(page.locator("#step-1")).to_have_attribute("open", "")
    expect(page.locator("#step-1 > summary")).to_be_focused()
    assert page.locator("#step-1 pre").last.evaluate("(box) => box.scrollTop") == 90
    expect(page.locator("#step-2")).not_to_have_attribute("open", "")


def test_it_looks_no_more_when_the_run_is_over(page, server):
    looks = []

    def over(_):
        looks.append(1)
        return 200, record_html(steps=1, is_live=False)

    page.clock.install()
    page.goto(PAGE)
    server.answers[LIVE] = over
    page.clock.run_for(1_000)
    expect(page.get_by_role("status").get_by_text("Completed")).to_be_visible()
    page.clock.run_for(5_000)
    page.evaluate("fetch(location.href)")  # what was asked before has arrived with it

    assert len(looks) == 1
    expect(page.locator("#run-poll")).to_have_count(0)


def test_a_record_that_is_gone_says_so_in_its_place(page, server):
    page.goto(PAGE)
    server.answers[LIVE] = lambda _: (404, render("inspector/run.html#gone"))

    expect(page.get_by_text("There is no record of this run any more")).to_be_visible()
    expect(page.locator("#run")).to_have_count(0)
    expect(page.locator("#alert")).to_be_empty()


def test_on_a_narrow_screen_the_tab_of_a_run_is_in_sight_and_looks_current(page):
    page.set_viewport_size({"width": 320, "height": 700})
    page.goto(PAGE)

    tab = page.get_by_role("navigation", name="Memory").get_by_role("link", name="Runs")
    other = page.get_by_role("navigation", name="Memory").get_by_role("link", name="Facts")

    expect(tab).to_be_in_viewport(ratio=0.9)  # its line lies over that of the bar
    line = "(link) => getComputedStyle(link).borderBlockEndColor"
    assert tab.evaluate(line) != other.evaluate(line)


def test_a_link_to_a_step_opens_it(page):
    page.goto(f"{PAGE}#step-1")

    expect(page.locator("#step-1")).to_have_attribute("open", "")


def page_html(**state):
    return render("inspector/run.html", path=PAGE, conversation_groups=[], **context(**state))


def record_html(**state):
    return render("inspector/run.html#record", path=PAGE, **context(**state))


def context(*, steps, is_live=True):
    run = RunPage(
        head=RunHead(
            id=RUN_ID,
            status="running" if is_live else "completed",
            status_label="Running" if is_live else "Completed",
            goal="Plan the trip",
            step_count=steps,
            model_calls=steps,
            tokens=9,
            cost="—",
            worked="",
            waited="",
            created_at=datetime(2026, 11, 30, 9, 0, tzinfo=UTC),
            record="Record kept while it runs",
            url=PAGE,
            conversation_title="Lisbon",
            has_own_title=True,
            conversation_id=UUID(int=1),
            conversation_url="/memory/conversations/1/",
        ),
        seen=str(steps),
        is_live=is_live,
        can_be_deleted=not is_live,
        message="",
        wait_reason="",
        resume_at=None,
        input_tokens=9,
        output_tokens=0,
        cached_tokens=0,
        limits=(),
        timeline=None,
        steps=[step(number) for number in range(1, steps + 1)],
        approvals=(),
        checkpoints=(),
    )
    return {"run": run, "calls": [], "chosen_call": 0, "chat_url": "/c/1/", "is_watched": is_live}


def step(number):
    return StepRow(
        number=number,
        action="calculate",
        status="ok",
        status_label="Done",
        summary="4",
        arguments=StepText("{}", 0),
        brief="",
        observation=StepText("\n".join(f"line {line}" for line in range(60)), 0),
        error="",
        origin_label="A tool found",
        taint_label="",
        is_untrusted=False,
        tokens=7,
        took="3 ms",
        is_full=False,
    )
