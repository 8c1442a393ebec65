"""A chat that is much longer than the model's window, as a person has it, and what they do with its messages.

Programs write most of it through the API, because nobody types so fast; the person reads, types, keeps and looks up.
"""

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass, field

import pytest
from playwright.sync_api import Browser, Locator, Page, expect

from tests.browser.chatting import new_chat, reply_of, say, wait_for_reply
from tests.browser.conftest import PROVIDER_KEY, Installation, signed_in
from tests.browser.programs import Program
from tests.modelserver import ModelServer
from tests.servers import migrated_directory
from tests.stack import running

pytestmark = [pytest.mark.browser, pytest.mark.stack]

WINDOW_TOKENS = 8_000  # the server refuses a longer prompt by itself
LENGTH = 104  # more than a page of the chat shows
TYPED = 3
# A message and its reply take about 180 tokens: so many more do not fit without a compaction.
TO_THE_NEXT_COMPACTION = 24
RULE = "Never send anybody on a Sunday."
PEOPLE = [
    "Agatha",
    "Boris",
    "Cecily",
    "Dorian",
    "Edith",
    "Fergus",
    "Gertrude",
    "Hubert",
    "Imogen",
    "Julius",
    "Kathleen",
]
COLOURS = ["amber", "crimson", "emerald", "indigo", "magenta", "scarlet", "turquoise"]
PLACES = [
    "attic",
    "bakery",
    "cellar",
    "garage",
    "kitchen",
    "library",
    "museum",
    "office",
    "pantry",
    "stable",
    "theatre",
    "village",
    "workshop",
]


@dataclass(frozen=True, slots=True)
class LongChat:
    """``told``: the numbers of its errands so far."""

    id: str
    program: Program
    told: list[int] = field(default_factory=list)

    @property
    def url(self) -> str:
        return f"/c/{self.id}/"

    def go_on(self, *, count: int) -> None:
        """With the next errands, told by the program."""
        for _ in range(count):
            self.told.append(len(self.told) + 1)
            self.program.say(self.id, errand(self.told[-1]))


@pytest.fixture(scope="module")
def installation() -> Iterator[Installation]:
    window = {"window_tokens": WINDOW_TOKENS, "max_output_tokens": 1_024}
    with (
        ModelServer(api_key=PROVIDER_KEY, persona="minutes") as provider,
        migrated_directory() as directory,
    ):
        settings = {
            "ANTHROPIC_API_KEY": PROVIDER_KEY,
            "ANTHROPIC_BASE_URL": provider.url,
            "STRATA_CHAT_MODEL": f"tiny-{WINDOW_TOKENS // 1_000}k",
            "STRATA_CHEAP_MODEL": "tiny-16k",
            "STRATA_MODEL_SETTINGS": json.dumps({f"tiny-{WINDOW_TOKENS // 1_000}k": window}),
        }
        with running(directory, **settings) as up:
            yield signed_in(up.url, up.wait_until_ready(), provider)


@pytest.fixture(scope="module")
def long_chat(chromium: Browser, installation: Installation) -> Iterator[LongChat]:
    context = chromium.new_context(base_url=installation.url, storage_state=installation.storage_state)
    page = context.new_page()
    page.goto("/settings/")
    page.get_by_label("Name of the program").fill("Errands")
    page.get_by_role("button", name="Create token").click()
    token = page.locator("#new-token").inner_text()
    program = Program.with_token(installation.url, token)
    wait_for_reply(page, new_chat(page, errand(1)))
    for number in range(2, TYPED + 1):
        wait_for_reply(page, say(page, errand(number)))
    chat = LongChat(id=last_part(page.url), program=program, told=list(range(1, TYPED + 1)))
    chat.go_on(count=LENGTH - TYPED)
    yield chat
    context.close()


@pytest.fixture(autouse=True)
def nothing_was_rejected(installation: Installation) -> Iterator[None]:
    """By the strict server, in all that a test made the application ask it for."""
    yield
    assert [request.status for request in installation.provider.requests if request.status >= 400] == []


def errand(number: int) -> str:
    """A message of whose second sentence a summary keeps nothing. No two are alike; one states a rule."""
    who, colour, place = (words[number % len(words)] for words in (PEOPLE, COLOURS, PLACES))
    tag = f"Its tag, {4_100 + number}, is with {who} in the {colour} {place}."
    rule = f" {RULE}" if number == 2 else ""
    return f"Errand {number}: fetch the parcel. {tag}{rule}"


def last_part(url: str) -> str:
    return url.rstrip("/").rpartition("/")[2]


def turns_of(page: Page) -> Locator:
    return page.locator("article.turn")


def said_on(page: Page) -> list[str]:
    """Also by turns so far away that the browser does not draw them."""
    return page.locator(".message--user .message__text").all_text_contents()


def scroll_back(page: Page) -> None:
    page.locator("#transcript").hover()
    page.mouse.wheel(0, -600)


def open_summary(page: Page, chat: LongChat, *, by: str) -> None:
    """By a link of the line in the chat that says what is summarised."""
    page.goto(chat.url)
    scroll_back(page)
    page.locator(".marker").get_by_role("link", name=by).click()
    page.wait_for_url(re.compile(r"/summaries/\d+/"))


def open_menu_of(turn: Locator) -> None:
    turn.locator("summary", has_text="More about this message").click()


def prompt_of(installation: Installation, words: str) -> str:
    """All text of the newest request for a reply to ``words``."""
    bodies = [call.body for call in installation.provider.calls if call.body.get("tools")]
    body = next(body for body in reversed(bodies) if words in json.dumps(body["messages"][-1]))
    blocks = [block for message in body["messages"] for block in message["content"]]
    return "\n".join(block.get("text", "") for block in blocks)


def summarised_up_to(prompt: str) -> int:
    found = re.search(r'<conversation-summary turns="1-(\d+)">', prompt)
    assert found
    return int(found[1])


def test_every_message_stays_on_the_page_and_is_found(page: Page, long_chat: LongChat):
    page.goto(long_chat.url)
    said = said_on(page)
    earlier = page.get_by_role("link", name="Show earlier messages")
    while earlier.is_visible():
        earlier.click()
        page.wait_for_url("**/?before=*")
        expect(turns_of(page).first).to_be_visible()
        said = [*said_on(page), *said]
    assert said[:LENGTH] == [errand(number) for number in range(1, LENGTH + 1)]
    page.get_by_role("link", name="Back to the newest messages").click()
    expect(turns_of(page).last).to_contain_text(said[-1])

    page.goto("/conversations/")
    page.get_by_role("searchbox", name="Search titles and what was said").fill("tag 4103")
    page.get_by_role("button", name="Search").click()

    expect(page.locator(".chat-row mark", has_text="4103")).to_be_visible()
    page.locator(".chat-row__link").click()
    page.wait_for_url(f"**{long_chat.url}**")


def test_the_chat_says_what_is_summarised_and_each_version_what_changed(page: Page, long_chat: LongChat):
    page.goto(long_chat.url)
    marker = page.locator(".marker")
    expect(marker).to_contain_text(re.compile(r"Messages 1–\d+ are summarised for the model"))
    expect(marker).not_to_contain_text("without the model")

    open_summary(page, long_chat, by="View")

    expect(page.locator("h1")).to_have_text(re.compile(r"^Messages 1–\d+$"))
    assert int(last_part(page.url)) >= 3
    expect(page.locator(".made")).to_contain_text("By tiny-16k")
    expect(page.locator(".made")).to_contain_text("in the background")
    expect(page.locator(".summary-text")).to_contain_text("Errand 1: fetch the parcel. (turn 1)")
    expect(page.locator("#pinned")).to_contain_text(RULE)
    changes = page.get_by_role("region", name="Changes")
    expect(changes.locator("ins").last).to_contain_text("fetch the parcel")
    expect(changes.locator("del").first).to_contain_text("fetch the parcel")
    page.get_by_role("link", name="Version before").click()
    expect(page.get_by_text("Replaced")).to_be_visible()
    expect(page.get_by_text("The model reads the version in use, not this one.")).to_be_visible()
    assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")


def test_a_summary_is_made_anew_while_the_page_waits(page: Page, long_chat: LongChat):
    open_summary(page, long_chat, by="View")
    before = int(last_part(page.url))

    page.get_by_role("button", name="Summarise again").click()

    page.wait_for_url(re.compile(rf"/summaries/{before + 1}/"))
    expect(page.locator(".made")).to_contain_text("You asked for it")


@pytest.mark.parametrize("context", ["phone"], indirect=True)  # many turns for what the size does not change
def test_a_line_that_was_left_out_is_kept_word_for_word_through_the_next_compaction(
    page: Page, long_chat: LongChat, installation: Installation
):
    open_summary(page, long_chat, by="What was left out")
    line = page.locator("#left-out .left-out__line", has_text="Its tag").first
    words = line.locator(".left-out__text").inner_text()
    number = int(re.search(r"\d+", words)[0]) - 4_100
    line.get_by_role("button", name="Always keep").click()
    expect(line.get_by_text("Kept", exact=True)).to_be_visible()
    expect(page.locator("#pinned")).to_contain_text(words)
    page.goto(long_chat.url)
    wait_for_reply(page, say(page, f"What of errand {number}?"))
    before = summarised_up_to(prompt_of(installation, f"What of errand {number}?"))

    long_chat.go_on(count=TO_THE_NEXT_COMPACTION)
    page.reload()
    wait_for_reply(page, say(page, f"And what of errand {number} now?"))

    prompt = prompt_of(installation, f"And what of errand {number} now?")
    assert summarised_up_to(prompt) > before
    assert f"kept by the user) {words}\n" in prompt
    assert f"a rule of the user) {RULE}\n" in prompt
    assert prompt.count(words) == 1  # the message itself is summarised


def test_what_programs_said_meanwhile_is_shown_before_a_message_is_sent_below_it(
    page: Page, long_chat: LongChat
):
    page.goto(long_chat.url)
    long_chat.program.say(long_chat.id, "A parcel came by itself.")

    page.get_by_label("Message", exact=True).fill("Which one?")
    page.keyboard.press("Enter")
    expect(page.locator("#composer-error")).to_contain_text("This chat moved on (1 newer message)")
    page.get_by_role("link", name="Show it").click()

    expect(turns_of(page).last).to_contain_text("A parcel came by itself.")
    expect(page.get_by_label("Message", exact=True)).to_have_value("Which one?")
    page.get_by_role("button", name="Send").click()
    expect(turns_of(page).last).to_contain_text("Which one?")
    wait_for_reply(page, turns_of(page).last)


def test_an_edited_message_is_a_version_beside_the_first(page: Page, installation: Installation):
    wait_for_reply(page, new_chat(page, "We fly to Porto."))
    wait_for_reply(page, say(page, "Who waters the plants?"))

    first = turns_of(page).first
    first.hover()
    first.get_by_role("link", name="Edit").click()
    page.get_by_label("Your message").fill("We fly to Oslo.")
    page.locator("form.edit").get_by_role("button", name="Send").click()
    expect(turns_of(page)).to_have_count(1)
    wait_for_reply(page, turns_of(page).last)

    versions = page.get_by_role("group", name="Version 2 of 2 of this message")
    expect(versions).to_contain_text("2/2")
    expect(reply_of(turns_of(page).first)).to_contain_text("We fly to Oslo.")
    versions.get_by_role("button", name="Show the previous version").click()
    expect(page.get_by_role("group", name="Version 1 of 2 of this message")).to_contain_text("1/2")
    expect(turns_of(page)).to_have_count(2)
    assert said_on(page) == ["We fly to Porto.", "Who waters the plants?"]
    page.get_by_role("button", name="Show the next version").click()
    expect(versions).to_be_visible()
    wait_for_reply(page, say(page, "What should I pack?"))
    prompt = prompt_of(installation, "What should I pack?")
    assert "We fly to Oslo." in prompt
    assert "Porto" not in prompt
    assert "plants" not in prompt


def test_what_was_removed_is_brought_back(page: Page):
    wait_for_reply(page, new_chat(page, "We fly to Porto."))
    wait_for_reply(page, say(page, "Who waters the plants?"))
    wait_for_reply(page, say(page, "Who feeds the cat?"))

    open_menu_of(turns_of(page).nth(1))
    turns_of(page).nth(1).get_by_role("button", name="Remove from here").click()

    expect(page.get_by_text("2 messages were removed")).to_be_visible()
    expect(turns_of(page)).to_have_count(1)
    page.reload()
    page.get_by_role("button", name="Bring back").click()
    expect(turns_of(page)).to_have_count(3)
    expect(page.get_by_role("button", name="Bring back")).to_have_count(0)
    assert said_on(page) == ["We fly to Porto.", "Who waters the plants?", "Who feeds the cat?"]


def test_a_temporary_chat_is_gone_when_it_is_closed(page: Page):
    page.goto("/")
    page.get_by_role("switch", name="Temporary chat").click()
    wait_for_reply(page, say(page, "Nobody shall know of the walrus."))
    page.wait_for_url("**/c/*/")
    url = page.url

    page.get_by_role("button", name="Close and delete").click()

    expect(page.get_by_text("everything that was said in it is deleted")).to_be_visible()
    assert page.goto(url).status == 404
    page.goto("/conversations/?q=walrus")
    expect(page.locator(".chat-row")).to_have_count(0)
    page.goto("/conversations/?show=deleted")
    expect(page.locator(".chat-row")).to_have_count(0)


def test_the_keyboard_is_enough_to_keep_words_of_a_message(page: Page):
    wait_for_reply(page, new_chat(page, "The gate code is on the fridge. Ring twice."))
    page.get_by_label("Message", exact=True).focus()

    more = page.locator(".turn .menu > summary")
    move_to(page, more, by="Shift+Tab")
    page.keyboard.press("Enter")
    move_to(page, page.get_by_role("link", name="Always keep…"), by="Tab")
    page.keyboard.press("Enter")
    words = page.get_by_label("What you said")
    expect(words).to_be_focused()
    page.keyboard.press("ControlOrMeta+a")
    page.keyboard.type("Ring twice.")
    page.keyboard.press("Tab")
    page.keyboard.press("Enter")

    expect(page.locator("dialog")).to_have_count(0)
    expect(more).to_be_focused()
    kept = page.locator("#kept summary")
    expect(kept).to_contain_text("1 line always kept")
    move_to(page, kept, by="Shift+Tab")
    page.keyboard.press("Enter")
    expect(page.locator(".kept__line")).to_have_text("Ring twice.")


def move_to(page: Page, target: Locator, *, by: str) -> None:
    """Press ``by`` until ``target`` has the focus; it must be near."""
    for _ in range(15):
        page.keyboard.press(by)
        if target.evaluate("element => element === document.activeElement"):
            return
    pytest.fail(f"{by} does not lead to {target}")
