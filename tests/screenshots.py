"""Takes the pictures in ``docs/screenshots`` anew: ``make screenshots``.

A whole installation with the example data and the strict model server behind it; Chromium in two widths, two themes.
"""

import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from playwright.sync_api import Browser, BrowserContext, Page, expect

from tests.browser.chatting import new_chat, wait_for_reply
from tests.browser.conftest import PROVIDER_KEY
from tests.chromium import launched
from tests.modelserver import ModelServer, fails, reply
from tests.servers import hermetic_environment, throw_away_directory
from tests.stack import PROJECT, running

PICTURES = PROJECT / "docs" / "screenshots"
SIZES = {"desktop": (1280, 800), "phone": (390, 844)}
THEMES = ("light", "dark")
GATE = "screenshot"

ANSWER = """\
For a long flight I would keep it simple, since you only drink green tea:

1. **Bring your own bags.** Cabin crew will give you hot water.
2. Ask for water below 80 °C, or let it stand for two minutes.
3. Drink half a litre an hour.

| when | what |
|---|---|
| after take-off | one cup, 2 minutes |
| before landing | water only |

```python
steep_s = 120 if celsius <= 80 else 60
```
"""


def main() -> None:
    shutil.rmtree(PICTURES, ignore_errors=True)
    PICTURES.mkdir(parents=True)
    with ModelServer(api_key=PROVIDER_KEY, persona="memory") as provider, throw_away_directory() as directory:
        keys = {"ANTHROPIC_API_KEY": PROVIDER_KEY, "ANTHROPIC_BASE_URL": provider.url}
        with running(directory, **keys) as up, launched() as browser:
            link = up.wait_until_ready()
            fill(directory)
            state = sign_in(browser, up.url, link)
            for size in SIZES:
                for theme in THEMES:
                    take_all(browser, up.url, state, provider, size=size, theme=theme)


def take_all(
    browser: Browser, url: str, state: dict, provider: ModelServer, *, size: str, theme: str
) -> None:
    def picture(name: str, page: Page) -> None:
        page.wait_for_timeout(250)  # fonts and the last transition
        page.screenshot(path=PICTURES / f"{name}-{size}-{theme}.png")

    with browsing(browser, url, size, theme, state={}) as page:
        page.goto("/accounts/login/")
        picture("sign-in", page)
    with browsing(browser, url, size, theme, state=state) as page:
        page.goto("/")
        picture("chat-empty", page)
        take_replies(page, provider, picture)
        for name, path in (
            ("memory-overview", "/memory/"),
            ("memory-facts", "/memory/facts/"),
            ("memory-conversations", "/memory/conversations/"),
            ("memory-runs", "/memory/runs/"),
            ("memory-kinds", "/policies/"),
            ("settings", "/settings/"),
            ("chats", "/conversations/"),
            ("chat-temporary", "/?temporary=1"),
        ):
            page.goto(path)
            picture(name, page)
        for name, listing, row in (
            ("memory-fact", "/memory/facts/", ".fact"),
            ("memory-conversation", "/memory/conversations/", ".item"),
            ("memory-run", "/memory/runs/", ".run-row__link"),
        ):
            page.goto(listing)
            page.locator(row).first.click()
            picture(name, page)
        take_summary(page, picture)


def take_replies(page: Page, provider: ModelServer, picture: Callable[[str, Page], None]) -> None:
    provider.script(reply(ANSWER, gate=GATE, hold_at=45))
    turn = new_chat(page, "What should I drink on my flight to Lisbon?")
    provider.wait_until_held(GATE)
    expect(turn).to_contain_text("before landing")
    picture("chat-streaming", page)
    provider.release(GATE)
    wait_for_reply(page, turn)
    provider.reset()
    picture("chat", page)
    take_receipt(page, picture)
    provider.script(fails(401, "authentication_error"))
    wait_for_reply(page, new_chat(page, "Is anybody there?"))
    picture("chat-error", page)


def take_receipt(page: Page, picture: Callable[[str, Page], None]) -> None:
    """What the reply was given, where it was given anything."""
    receipt = page.locator(".receipt > summary").last
    if receipt.count():
        receipt.click()
        expect(page.locator(".receipt__list").first).to_be_visible()
        picture("chat-receipt", page)


def take_summary(page: Page, picture: Callable[[str, Page], None]) -> None:
    """Of the example's conversation that has one: its marker in the chat, its page, and the context bar."""
    page.goto("/memory/conversations/")
    addresses = [row.get_attribute("href") for row in page.locator("a[href^='/memory/conversations/']").all()]
    for address in dict.fromkeys(filter(None, addresses)):
        page.goto(address)
        version = page.locator("a[href*='/summaries/']").first
        if version.count():
            break
    version.click()
    picture("memory-summary", page)
    chat = address.replace("/memory/conversations/", "/c/")
    page.goto(f"{chat}context")
    picture("context", page)
    page.goto(chat)
    page.get_by_text("summarised for the model").scroll_into_view_if_needed()
    picture("chat-summarised", page)


def fill(directory: Path) -> None:
    """The example data, through the command that people use."""
    command = [sys.executable, "manage.py", "demo_data", "--data-dir", str(directory)]
    subprocess.run(command, cwd=PROJECT, env=hermetic_environment(), check=True)


def sign_in(browser: Browser, url: str, link: str) -> dict:
    context = browser.new_context(base_url=url)
    context.new_page().goto(link)
    state = context.storage_state()
    context.close()
    return state


@contextmanager
def browsing(browser: Browser, url: str, size: str, theme: str, *, state: dict) -> Iterator[Page]:
    width, height = SIZES[size]
    context: BrowserContext = browser.new_context(
        base_url=url,
        viewport={"width": width, "height": height},
        color_scheme=theme,
        reduced_motion="reduce",
        storage_state=state or None,
    )
    context.set_default_timeout(30_000)
    yield context.new_page()
    context.close()


if __name__ == "__main__":
    main()
