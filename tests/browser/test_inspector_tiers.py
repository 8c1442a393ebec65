"""The pages of the transcript and of the scratchpad, as their person uses them: wide and on a phone."""

import itertools
import json
import re
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from uuid import uuid4

import pytest
from playwright.sync_api import BrowserContext, Locator, Page, expect

from tests.browser.chatting import new_chat, wait_for_reply
from tests.browser.conftest import PROVIDER_KEY, Installation, signed_in
from tests.browser.example_tool import install_example
from tests.browser.programs import Program
from tests.modelserver import ModelServer, calls, reply
from tests.screenshots import fill
from tests.servers import migrated_directory
from tests.stack import running

pytestmark = [pytest.mark.browser, pytest.mark.stack]

MANY = 21  # one more than what goes without a typed word
NUMBERS = itertools.count(1)


@pytest.fixture(scope="module")
def installation(tmp_path_factory) -> Iterator[Installation]:
    """With the example data, and a tool that asks before it runs."""
    packages = tmp_path_factory.mktemp("packages")
    install_example(packages)
    with ModelServer(api_key=PROVIDER_KEY, persona="memory") as provider, migrated_directory() as directory:
        environment = {
            "ANTHROPIC_API_KEY": PROVIDER_KEY,
            "ANTHROPIC_BASE_URL": provider.url,
            "PYTHONPATH": str(packages),
            "EXAMPLE_NOTEBOOK": str(tmp_path_factory.mktemp("notes") / "notebook"),
        }
        with running(directory, **environment) as up:
            link = up.wait_until_ready()
            fill(directory)
            yield signed_in(up.url, link, provider)


@pytest.fixture
def program(context: BrowserContext, installation: Installation) -> Program:
    return Program.in_session_of(context, installation.url)


@pytest.fixture
def page(page: Page) -> Iterator[Page]:
    """Nothing sticks out to the side of the page on which a test ends."""
    yield page
    assert page.evaluate("document.documentElement.scrollWidth <= document.documentElement.clientWidth")


@pytest.fixture
def mark() -> str:
    """A word that no other test says."""
    return f"mark{next(NUMBERS)}"


def conversation_page(page: Page, id_: str) -> None:
    page.goto(f"/memory/conversations/{id_}/")


def exchange(page: Page, number: int) -> Locator:
    return page.locator(f"#turn-{number}")


def in_menu(page: Page, number: int, name: str) -> Locator:
    """What the menu of a turn offers, with the menu open."""
    exchange(page, number).locator("details.menu > summary").click()
    return exchange(page, number).locator(".menu__item", has_text=name)


def notice(page: Page, text: str) -> Locator:
    found = page.locator(".undo__notice", has_text=text)
    expect(found).to_be_visible()
    return found


def test_a_conversation_is_found_by_what_was_said_and_by_what_came_of_it(
    page: Page, program: Program, mark: str
):
    program.chat("Garden plans", f"The {mark} roses want more sun.")
    page.goto("/memory/conversations/")

    page.get_by_role("searchbox", name="Search").last.fill(mark)
    page.get_by_role("button", name="Show", exact=True).click()

    rows = page.locator(".said-row")
    expect(rows).to_have_count(1)
    expect(rows.locator("mark").first).to_have_text(mark)
    page.get_by_label("Which").select_option("With a summary")
    page.get_by_role("button", name="Show", exact=True).click()
    expect(page.get_by_text("No conversation matches")).to_be_visible()
    page.goto("/memory/conversations/?show=summarised")
    expect(rows).to_contain_text(["The Heron exhibition"])
    assert re.search("show=summarised", page.url)


def test_conversations_are_narrowed_to_the_days_of_their_last_message(
    page: Page, program: Program, mark: str
):
    program.chat(f"Today {mark}", "Only a word.")
    after_today = datetime.now(UTC).date() + timedelta(days=2)  # wherever the page thinks its reader is
    page.goto(f"/memory/conversations/?q={mark}")
    rows = page.locator(".said-row")
    expect(rows).to_have_count(1)

    page.get_by_label("From this day").fill(after_today.isoformat())
    page.get_by_role("button", name="Show", exact=True).click()

    expect(page.get_by_text("No conversation matches")).to_be_visible()
    expect(page.get_by_label("From this day")).to_have_value(after_today.isoformat())
    page.get_by_label("From this day").fill("")
    page.get_by_label("Until this day").fill(after_today.isoformat())
    page.get_by_role("button", name="Show", exact=True).click()
    expect(rows).to_have_count(1)


def test_a_conversation_shows_where_it_was_summarised(page: Page):
    page.goto("/memory/conversations/?show=summarised")
    page.locator(".said-row").get_by_role("link", name="The Heron exhibition").click()

    marker = page.locator(".said-marker--used")
    expect(marker).to_have_count(1)
    marker.get_by_role("link").click()

    expect(page).to_have_url(re.compile(r"/summaries/1/"))
    expect(page.locator("h1")).to_be_visible()


def test_a_conversation_tells_what_each_reply_cost_in_tokens(page: Page, program: Program, mark: str):
    id_ = program.chat(f"Costs {mark}", "Good morning.", "How are you?")
    conversation_page(page, id_)

    expect(page.locator(".said-chart rect")).not_to_have_count(0)
    page.get_by_text("The numbers").click()

    numbers = page.locator(".said-numbers tbody tr")
    expect(numbers).to_have_count(2)
    expect(numbers.first.locator("td").first).to_have_text(re.compile(r"[1-9]"))


def test_a_message_is_corrected_where_it_was_said(page: Page, program: Program, mark: str):
    id_ = program.chat(f"A slip {mark}", "The train leaves at nine.")
    conversation_page(page, id_)

    in_menu(page, 1, "Redact or correct your message").click()
    page.get_by_label("What it should say").fill(f"The {mark} train leaves at ten.")
    page.get_by_role("button", name="Correct it").click()

    notice(page, "Corrected.")
    expect(page.locator(".said-whole")).to_have_text(f"The {mark} train leaves at ten.")
    for address in (f"/memory/conversations/{id_}/", f"/c/{id_}/"):
        page.goto(address)
        expect(page.locator("main")).to_contain_text(f"The {mark} train leaves at ten.")


def test_redacted_words_are_gone_from_the_page_the_chat_and_the_search(
    page: Page, program: Program, mark: str
):
    id_ = program.chat(f"Doors {mark}", f"The door opens with plum{mark}.", f"Say plum{mark} again.")
    conversation_page(page, id_)

    in_menu(page, 1, "Redact or correct your message").click()
    page.get_by_label("Words to redact").fill(f"plum{mark}")
    page.get_by_role("button", name="Redact these words").click()
    page.get_by_role("button", name="Redact for good").click()

    notice(page, "This cannot be undone.")
    expect(page.locator(".said-whole")).to_contain_text("redacted]")
    for address in (
        f"/memory/conversations/{id_}/",
        f"/c/{id_}/",
        f"/memory/conversations/?q=plum{mark}",
    ):
        page.goto(address)
        expect(page.locator("main")).not_to_contain_text(f"plum{mark}")
    expect(page.get_by_text("No conversation matches")).to_be_visible()


def test_words_that_were_corrected_are_redacted_in_the_reply_that_repeats_them(
    page: Page, installation: Installation, program: Program, mark: str
):
    installation.provider.script(reply(f"Heron{mark}! What a name."))
    id_ = program.chat(f"Birds {mark}", f"He is called heron{mark}.")
    conversation_page(page, id_)

    in_menu(page, 1, "Redact or correct your message").click()
    page.get_by_label("What it should say").fill("He is called Odin.")
    page.get_by_role("button", name="Correct it").click()
    left = page.get_by_role("region", name="Replies still say what you corrected")
    left.get_by_role("button", name="Redact these words…").click()
    page.get_by_role("button", name="Redact for good").click()

    expect(page.locator(".said-whole")).to_have_text("[▇ redacted]! What a name.")


def test_words_that_nobody_said_are_not_redacted_and_stay_to_be_mended(
    page: Page, program: Program, mark: str
):
    id_ = program.chat(f"Nothing {mark}", "The lamp is blue.")
    conversation_page(page, id_)

    in_menu(page, 1, "Redact or correct your message").click()
    page.get_by_label("Words to redact").fill("elephant")
    page.get_by_role("button", name="Redact these words").click()

    expect(page.locator("#redact-problem")).to_be_visible()
    expect(page.get_by_label("Words to redact")).to_have_value("elephant")


def test_an_exchange_is_deleted_and_brought_back(page: Page, program: Program, mark: str):
    id_ = program.chat(f"Three {mark}", "Say one.", "Say two.", "Say three.")
    conversation_page(page, id_)

    in_menu(page, 2, "Delete this exchange").click()

    deleted = notice(page, "Deleted: 1 exchange.")
    expect(page.locator(".exchange")).to_have_count(2)
    expect(page.locator("#words")).not_to_contain_text("Say two.")
    deleted.get_by_role("button", name="Undo").click()
    expect(page.locator(".exchange")).to_have_count(3)
    expect(page.locator("#words")).to_contain_text("Say two.")


def test_all_from_an_exchange_on_is_deleted_and_brought_back(page: Page, program: Program, mark: str):
    id_ = program.chat(f"Onwards {mark}", "Say one.", "Say two.", "Say three.")
    conversation_page(page, id_)

    in_menu(page, 2, "Delete from here on").click()

    deleted = notice(page, "Deleted: 2 exchanges.")
    expect(page.locator(".exchange")).to_have_count(1)
    deleted.get_by_role("button", name="Undo").click()
    expect(page.locator(".exchange")).to_have_count(3)


def test_a_conversation_is_kept_for_ever_or_until_a_day(page: Page, program: Program, mark: str):
    day = datetime.now(UTC).date() + timedelta(days=40)
    id_ = program.chat(f"Keep {mark}", "Keep this.")
    conversation_page(page, id_)

    page.get_by_label("Delete on").check()
    page.get_by_label("The day on which it is deleted").fill(day.isoformat())
    page.locator("#save-keeping").click()

    expect(page.locator("#keeping-title")).to_contain_text(f"{day.day} {day:%B %Y}")
    expect(page.get_by_label("Delete on")).to_be_checked()
    page.get_by_label("Keep for ever").check()
    page.locator("#save-keeping").click()
    expect(page.get_by_label("Keep for ever")).to_be_checked()
    expect(page.locator("#keeping-title")).not_to_contain_text(f"{day:%Y}")


def test_a_conversation_that_is_made_temporary_leaves_the_list_and_its_memory_is_off(
    page: Page, program: Program, mark: str
):
    id_ = program.chat(f"Passing {mark}", "Only for today.")
    conversation_page(page, id_)

    page.get_by_text("Make it temporary").first.click()
    page.locator("#make-temporary").click()

    expect(page.get_by_text("Temporary from now on")).to_be_visible()
    expect(page.get_by_label("Remember what I say here")).to_be_disabled()
    page.goto(f"/memory/conversations/?q={mark}")
    expect(page.locator(".said-row")).to_have_count(0)
    page.goto("/memory/conversations/?show=temporary")
    expect(page.locator(".said-row", has_text=mark)).to_have_count(1)


def test_many_conversations_are_deleted_after_a_typed_word_and_brought_back(
    page: Page, program: Program, mark: str
):
    made = [program.chat(f"Errand {mark} {number}") for number in range(MANY)]
    page.goto(f"/memory/conversations/?q={mark}")
    page.get_by_role("button", name=f"Delete all {MANY} that match…").click()
    delete = page.get_by_role("button", name=f"Delete {MANY} conversations")

    page.get_by_label("Type delete to go on").fill("yes")
    delete.click()
    expect(page.locator("#typed-problem")).to_contain_text("delete")
    page.get_by_label("Type delete to go on").fill("delete")
    delete.click()

    deleted = notice(page, f"Deleted: {MANY} conversations.")
    expect(page.get_by_text("No conversation matches")).to_be_visible()
    deleted.get_by_role("button", name="Undo").click()
    expect(page.get_by_role("button", name=f"Delete all {MANY} that match…")).to_be_visible()
    for id_ in made:
        program.delete_chat(id_)


@pytest.fixture
def waiting(page: Page, installation: Installation, mark: str) -> Iterator[Locator]:
    """The turn of a run with a plan and a result, which waits for an answer."""
    about = f"Price of {mark} {uuid4().hex}"
    plan = calls("update_plan", todo=["Book a hotel", "Tell Anna"], open_questions=["Which month?"])
    installation.provider.script(
        reply(plan, contains=about),
        reply(calls("calculate", expression="6 * 7"), contains=about),
        reply("I will leave Anna a note.", calls("send_note", text=f"About {mark}"), contains=about),
        reply("That is settled.", contains=about),
    )
    turn = new_chat(page, about)
    expect(turn.get_by_role("heading", name="Allow this?")).to_be_visible()
    page.wait_for_url(re.compile("/c/"))
    yield turn
    installation.provider.reset()


@pytest.fixture
def ended(page: Page, waiting: Locator) -> Locator:
    """Its run, over."""
    waiting.get_by_role("button", name="Approve once").click()
    assert "That is settled." in wait_for_reply(page, waiting)
    return waiting


def to_run(page: Page, mark: str) -> None:
    page.goto(f"/memory/runs/?q={mark}")
    page.locator(".run-row__link").click()
    expect(page.locator("h1")).to_contain_text(mark)


def last_prompt(installation: Installation) -> str:
    return json.dumps(installation.provider.calls[-1].body["messages"], ensure_ascii=False)


@pytest.mark.usefixtures("ended")
def test_a_run_is_found_and_read_step_by_step(page: Page, mark: str):
    page.goto("/memory/runs/")
    page.get_by_role("searchbox", name="Search goals").fill(mark)
    page.get_by_label("State").select_option("Completed")
    page.get_by_role("button", name="Show", exact=True).click()
    expect(page.locator(".run-row")).to_have_count(1)
    page.locator(".run-row__link").click()

    steps = page.locator("details[id^='step-']")
    expect(steps).to_have_count(3)
    steps.nth(1).locator("summary").click()
    expect(steps.nth(1)).to_contain_text("6 * 7")
    expect(steps.nth(1).locator("pre.dump").last).to_contain_text("42")
    expect(page.locator(".approval")).to_contain_text("send_note")
    page.get_by_role("link", name="From step 1 of 3").click()
    pad = page.locator("#pad")
    expect(pad).to_contain_text("as read after step 1")
    expect(pad).not_to_contain_text("42")


@pytest.mark.usefixtures("waiting")
def test_a_run_that_waits_goes_on_with_the_pad_that_its_person_changed(
    page: Page, installation: Installation, mark: str
):
    chat = page.url
    to_run(page, mark)
    pad, strike = page.locator("#pad"), re.compile("^Strike ?: Book a hotel")

    pad.get_by_role("link", name=re.compile(r"^Correct ?: 6 \* 7")).click()
    expect(page.locator("#pad-text")).to_be_focused()
    page.locator("#pad-text").fill("42, and not a day more")
    page.get_by_role("button", name="Correct the fact").click()
    expect(pad.locator("li", has_text="6 * 7: 42, and not a day more")).to_be_visible()
    pad.get_by_role("button", name=strike).click()
    expect(pad.get_by_role("button", name=strike)).to_have_count(0)
    pad.get_by_role("link", name=re.compile(r"^Answer ?: Which month")).click()
    page.locator("#pad-text").fill("In May")
    page.get_by_role("button", name="Answer", exact=True).click()
    expect(pad.locator("li", has_text="Which month?: In May")).to_be_visible()
    page.goto(chat)
    page.get_by_role("button", name="Approve once").click()

    assert "That is settled." in wait_for_reply(page, page.locator("article.turn").last)
    read = last_prompt(installation)
    assert "42, and not a day more" in read
    assert "In May" in read
    assert "struck" in read


@pytest.mark.usefixtures("ended")
def test_the_record_of_a_run_is_kept_longer_and_deleted(page: Page, mark: str):
    to_run(page, mark)
    page.locator("#keep-for-ever").click()
    expect(page.locator("#keep-by-rule")).to_be_visible()
    page.locator("#keep-by-rule").click()
    expect(page.locator("#keep-by-rule")).to_have_count(0)

    page.locator("#delete-record > summary").click()
    page.get_by_role("button", name="Delete record for good").click()

    expect(page).to_have_url(re.compile(r"/memory/runs/$"))
    page.goto(f"/memory/runs/?q={mark}")
    expect(page.get_by_text("No run matches")).to_be_visible()


def test_an_experience_is_judged_and_its_lesson_put_into_its_persons_words(page: Page, mark: str):
    page.goto("/memory/experiences/")
    page.get_by_role("link", name="three nights").click()

    page.get_by_role("button", name="It helped").click()
    expect(page.get_by_text(re.compile(r"Noted: \d+ % sure now"))).to_be_visible()
    page.get_by_role("link", name="Correct the lesson").click()
    expect(page.get_by_label("What worked")).to_be_focused()
    page.get_by_label("What worked").fill(f"Leave the words out of the sum: {mark}")
    page.get_by_role("button", name="Correct the lesson").click()

    expect(page.get_by_text("Corrected. Later tasks are given your words.")).to_be_visible()
    expect(page.locator("main")).to_contain_text(f"Leave the words out of the sum: {mark}")
    expect(page.get_by_text("You put it into words.")).to_be_visible()
