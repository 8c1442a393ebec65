"""The rules and the workings of an installation, as its admin uses them: wide and on a phone."""

import re
from collections.abc import Callable, Iterator
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from uuid import uuid4

import pytest
from playwright.sync_api import Browser, Page, expect

from tests.browser.chatting import new_chat, wait_for_reply
from tests.browser.conftest import PROVIDER_KEY, Installation, signed_in
from tests.modelserver import ModelServer, fails
from tests.screenshots import fill
from tests.servers import migrated_directory
from tests.stack import running

pytestmark = [pytest.mark.browser, pytest.mark.stack]

OLD_FACT = "I prefer black frames for Heron"  # of the example data, a month old
BACKGROUND_MODEL = "claude-haiku-5-5"
PASSWORD = "a long enough sentence"


@pytest.fixture(scope="module")
def installation() -> Iterator[Installation]:
    """With the example data; what is said is read by the model at once, and whoever wants to may sign up."""
    with ModelServer(api_key=PROVIDER_KEY, persona="memory") as provider, migrated_directory() as directory:
        environment = {
            "ANTHROPIC_API_KEY": PROVIDER_KEY,
            "ANTHROPIC_BASE_URL": provider.url,
            "STRATA_MODEL_EXTRACTION": "true",
            "STRATA_EXTRACTION_DELAY_S": "0",
            "STRATA_CHEAP_MODEL": BACKGROUND_MODEL,
            "STRATA_IS_SIGNUP_OPEN": "true",
        }
        with running(directory, **environment) as up:
            link = up.wait_until_ready()
            fill(directory)
            yield signed_in(up.url, link, provider)


@pytest.fixture
def page(page: Page) -> Iterator[Page]:
    """Nothing sticks out to the side of the page on which a test ends."""
    yield page
    assert page.evaluate("document.documentElement.scrollWidth <= document.documentElement.clientWidth")


def reload_until(page: Page, address: str, is_so: Callable[[], None]) -> None:
    """What the background does shows on the next look; each look waits a moment for it."""
    for _ in range(20):
        page.goto(address)
        try:
            is_so()
        except AssertionError:
            continue
        return
    is_so()


def draft(page: Page, *, days: str, why: str) -> None:
    """Another lifetime for preferences, looked at and not saved."""
    page.goto("/policies/kinds/preference/")
    page.get_by_label("Lifetime in days").fill(days)
    page.get_by_label("Why so").fill(why)
    page.get_by_role("button", name="Show what this would do").click()
    expect(page.locator("#preview")).to_be_visible()


@pytest.mark.parametrize("has_scripts", [True, False])
def test_a_number_that_was_changed_after_the_look_is_not_saved_and_that_stands_in_view(
    chromium: Browser, installation: Installation, has_scripts: bool
):
    context = chromium.new_context(
        base_url=installation.url,
        storage_state=installation.storage_state,
        viewport={"width": 390, "height": 844},
        java_script_enabled=has_scripts,
    )
    page = context.new_page()
    draft(page, days="60", why="Tastes change.")

    page.get_by_label("Lifetime in days").fill("90")
    page.get_by_role("button", name="Change it now").click()

    warning = page.locator("#preview [role=alert]")
    expect(warning).to_contain_text(
        "Not changed yet: the preview was for “Lifetime: 60 days”, and the form now says “Lifetime: 90 days”."
    )
    expect(warning).to_be_in_viewport(ratio=1)
    expect(warning).to_be_focused()
    scrolls = "box => box.scrollWidth > box.clientWidth"
    assert not page.locator("#preview .table-scroll").evaluate(scrolls)  # the last column is in view, too
    context.close()


def test_a_shorter_lifetime_shows_what_it_takes_takes_it_and_gives_it_back(page: Page):
    draft(page, days="7", why="Tastes change by the week.")
    effects = page.locator("#preview")
    expect(effects).to_contain_text("365 days")
    expect(effects.get_by_role("row", name=re.compile("^Now 1 1"))).to_be_visible()
    expect(effects.get_by_role("heading", name="How old they are")).to_be_visible()
    expect(effects.locator("svg").first).to_be_visible()
    expect(effects).to_contain_text(OLD_FACT)

    page.get_by_role("button", name="Change it now: 1 memory of 1 person goes").click()

    taken = page.locator(".undo__notice")
    expect(taken).to_be_visible()
    other = page.context.new_page()
    other.goto("/memory/facts/")
    expect(other.locator(".rows")).to_be_visible()
    expect(other.get_by_text(OLD_FACT)).to_have_count(0)
    taken.get_by_role("button").first.click()
    expect(page.get_by_text("Undone: the change of")).to_be_visible()
    expect(page.get_by_label("Lifetime in days")).to_have_value("365")
    other.reload()
    expect(other.get_by_text(OLD_FACT).first).to_be_visible()
    other.close()


def test_a_lifetime_without_a_reason_of_its_own_is_refused_with_what_was_typed(page: Page):
    page.goto("/policies/kinds/preference/")
    page.get_by_label("Lifetime in days").fill("9")

    page.get_by_role("button", name="Show what this would do").click()

    expect(page.get_by_text("Say why it is kept so long from now on.")).to_be_visible()
    expect(page.get_by_label("Lifetime in days")).to_have_value("9")
    expect(page.locator("#apply")).to_have_count(0)


def test_a_change_is_planned_for_a_day_withdrawn_and_stays_in_the_history(page: Page):
    why = f"A season is enough, says {uuid4().hex[:8]}."
    day = datetime.now(UTC).date() + timedelta(days=30)
    page.goto("/policies/kinds/preference/")
    page.get_by_label("Lifetime in days").fill("90")
    page.get_by_label("Why so").fill(why)
    page.get_by_label("From").fill(day.isoformat())
    page.get_by_role("button", name="Show what this would do").click()

    page.locator("#apply").click()

    expect(page.get_by_role("heading", name=f"Changes on {day.day} {day:%B %Y}")).to_be_visible()
    expect(page.get_by_label("Lifetime in days")).to_have_count(0)
    page.goto("/policies/")
    expect(page.locator("#kind-preference")).to_contain_text(f"Changes {day.day} {day:%b %Y}")
    page.goto("/policies/kinds/preference/")
    page.get_by_role("button", name="Withdraw this change").click()
    expect(page.get_by_text("Withdrawn: the change of")).to_be_visible()
    expect(page.get_by_label("Lifetime in days")).to_have_value("365")
    page.goto("/policies/history/?kind=preference")
    expect(page.locator(".change", has_text=why)).to_contain_text("Withdrawn")


def test_a_knob_is_turned_with_a_reason_and_turned_back(page: Page):
    why = f"Long errands, says {uuid4().hex[:8]}"
    page.goto("/policies/tiers/")
    steps = page.get_by_label("Steps of a run")
    before = steps.input_value()

    steps.fill("23")
    page.get_by_label("Why you change it").fill(why)
    page.get_by_role("button", name="Save changes").click()

    changed = page.locator(".undo__notice", has_text="Changed: 1 setting.")
    expect(changed).to_have_count(1)
    expect(steps).to_have_value("23")
    expect(page.locator(".tier-change", has_text=why)).to_contain_text("admin")
    changed.get_by_role("button", name="Undo").click()
    expect(page.get_by_text("Undone. What was set before holds again.")).to_be_visible()
    expect(steps).to_have_value(before)
    page.goto("/policies/tiers/history/")
    expect(page.locator(".tier-change", has_text=why)).to_contain_text("undone by admin")


def test_a_knob_out_of_its_bounds_is_refused_with_all_that_was_typed(page: Page):
    page.goto("/policies/tiers/")
    page.get_by_label("Steps of a run").fill("100000")
    page.get_by_label("Temporary chats are kept").fill("12")
    page.get_by_label("Why you change it").fill("More of everything")

    page.get_by_role("button", name="Save changes").click()

    expect(page.locator("#tiers-error")).to_contain_text("Nothing was changed")
    expect(page.get_by_label("Steps of a run")).to_have_value("100000")
    expect(page.get_by_label("Temporary chats are kept")).to_have_value("12")
    expect(page.get_by_label("Why you change it")).to_have_value("More of everything")
    page.locator("#tiers-error").get_by_role("link", name="Steps of a run").click()
    expect(page.get_by_label("Steps of a run")).to_be_in_viewport()
    page.goto("/policies/tiers/")
    expect(page.get_by_label("Temporary chats are kept")).to_have_value("24")


def test_a_shorter_life_of_conversations_is_looked_at_before_it_holds(page: Page):
    page.goto("/policies/tiers/")
    page.get_by_label("Conversations are kept").fill("36500")
    page.get_by_label("Why you change it").fill("For the records office")
    page.get_by_role("button", name="Save changes").click()
    expect(page.get_by_role("heading", name="Conversations that end")).to_be_visible()

    page.get_by_role("button", name="Go on editing").click()

    expect(page.get_by_label("Conversations are kept")).to_have_value("36500")
    expect(page.get_by_label("Why you change it")).to_have_value("For the records office")
    page.goto("/policies/tiers/")
    expect(page.get_by_label("Conversations are kept")).to_have_value("0")


def test_a_failed_job_is_shown_and_tried_again_and_programs_read_the_same_figures(
    page: Page, installation: Installation
):
    provider = installation.provider
    refusal = replace(fails(401, "authentication_error"), model=BACKGROUND_MODEL)
    provider.script(*[refusal] * 20)
    wait_for_reply(page, new_chat(page, f"My locker has the number {uuid4().hex[:6]}."))
    again = page.get_by_role("button", name=re.compile("^Try again ?: extraction"))
    reload_until(page, "/policies/operations/", lambda: expect(again.first).to_be_visible(timeout=1_000))
    expect(page.locator(".figure", has_text="Replies being written")).to_contain_text(re.compile(r"\d"))
    figures = page.context.request.get("/metrics").text()
    assert re.search(r'^strata_job_failures_last_day\{job="extraction"\} [1-9]', figures, re.MULTILINE)

    provider.reset()
    for _ in range(40):  # what it failed for meanwhile is listed, too
        again.first.click()
        expect(page.get_by_text("It is tried again now.")).to_be_visible()
        page.reload()
        if not again.count():
            break

    reload_until(page, "/policies/operations/", lambda: expect(again).to_have_count(0, timeout=1_000))


def test_a_memory_of_another_is_opened_for_a_reason_that_they_read(
    page: Page, chromium: Browser, installation: Installation
):
    name, secret = f"bob-{uuid4().hex[:8]}", f"Only bob keeps {uuid4().hex[:8]} bees."
    theirs = chromium.new_context(base_url=installation.url)
    bob = theirs.new_page()
    sign_up(bob, name)
    bob.goto("/memory/facts/add/")
    bob.get_by_label("Statement").fill(secret)
    bob.get_by_role("button", name="Remember it").click()
    expect(bob.get_by_text(secret).first).to_be_visible()
    page.goto("/memory/facts/")
    expect(page.locator("main")).not_to_contain_text(secret)
    assert page.context.request.get(bob.url).status == (404 if "/facts/" in bob.url else 200)

    page.goto(f"/policies/people/?q={name}")
    page.get_by_role("link", name=name).click()
    expect(page.locator("main")).not_to_contain_text(secret)
    page.get_by_label("Reason").fill("Ticket 4711: wrong facts")
    page.get_by_role("button", name=f"Open {name}’s memory").click()

    expect(page.locator(".opened")).to_contain_text(f"You are looking at {name}’s memory as an admin")
    page.goto("/memory/facts/")
    expect(page.locator(".opened")).to_contain_text("Ticket 4711: wrong facts")
    expect(page.get_by_text(secret).first).to_be_visible()
    bob.goto("/memory/activity/")
    expect(bob.locator("main")).to_contain_text("Ticket 4711: wrong facts")
    expect(bob.locator("main")).to_contain_text("admin")
    page.get_by_role("button", name="Close", exact=True).click()
    expect(page.get_by_text("The memory pages are about you again.")).to_be_visible()
    page.goto("/memory/facts/")
    expect(page.locator(".opened")).to_have_count(0)
    expect(page.locator("main")).not_to_contain_text(secret)
    theirs.close()


def test_rules_are_read_by_everybody_and_changed_by_admins(chromium: Browser, installation: Installation):
    theirs = chromium.new_context(base_url=installation.url)
    bob = theirs.new_page()
    sign_up(bob, f"bob-{uuid4().hex[:8]}")

    bob.goto("/policies/")

    expect(bob.locator("#kind-preference")).to_be_visible()
    expect(bob.get_by_role("link", name="Change")).to_have_count(0)
    for address in ("/policies/tiers/", "/policies/people/", "/policies/operations/", "/metrics"):
        assert theirs.request.get(address).status == 403
    theirs.close()


def sign_up(page: Page, name: str) -> None:
    page.goto("/accounts/signup/")
    page.get_by_label("Username").fill(name)
    page.locator("input[name=password1]").fill(PASSWORD)
    page.locator("input[name=password2]").fill(PASSWORD)
    page.get_by_role("button", name="Create the account").click()
    expect(page.get_by_label("Message", exact=True)).to_be_visible()
