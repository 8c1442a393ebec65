"""Takes the pictures in ``docs/screenshots`` anew: ``make screenshots``.

A whole installation with the example data and the strict model server behind it; Chromium in two widths, two themes.
``make screenshots ARGS=DIRECTORY`` takes every page that can be reached, by the name of its route, and the states of
the chat, and puts them there to be looked at; with words behind it, those whose names hold one of them.
"""

import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import django
from playwright.sync_api import Browser, BrowserContext, Page, expect

from tests.browser.chatting import new_chat, wait_for_reply
from tests.browser.conftest import PROVIDER_KEY
from tests.browser.visiting import forgotten, looked_at, pages
from tests.chromium import launched
from tests.modelserver import ModelServer, fails, reply
from tests.servers import hermetic_environment, throw_away_directory
from tests.stack import PROJECT, running

PICTURES = PROJECT / "docs" / "screenshots"
DOCUMENTED = (
    "chat-receipt",
    "inspector-overview",
    "inspector-facts",
    "inspector-health",
    "inspector-summary",
    "policies-kinds",
)
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


@dataclass(frozen=True, slots=True)
class Album:
    """Pictures in one size and theme. ``words``: one of them is in the name of each that is wanted; none: all are."""

    directory: Path
    words: tuple[str, ...]
    size: str
    theme: str

    def wants(self, *names: str) -> bool:
        return not self.words or any(word in name for word in self.words for name in names)

    def add(self, name: str, page: Page) -> None:
        if self.wants(name):
            page.wait_for_timeout(250)  # fonts and the last transition
            page.screenshot(path=self.directory / f"{name}-{self.size}-{self.theme}.png")


def main(directory: str = "", *words: str) -> None:
    if not directory:
        shutil.rmtree(PICTURES, ignore_errors=True)
        words = DOCUMENTED
    into = Path(directory or PICTURES)
    into.mkdir(parents=True, exist_ok=True)
    with ModelServer(api_key=PROVIDER_KEY, persona="memory") as provider, throw_away_directory() as data:
        keys = {"ANTHROPIC_API_KEY": PROVIDER_KEY, "ANTHROPIC_BASE_URL": provider.url}
        with running(data, **keys) as up, launched() as browser:
            link = up.wait_until_ready()
            fill(data)
            state = sign_in(browser, up.url, link)
            addresses = addresses_of_pages(browser, up.url, state)
            for size in SIZES:
                for theme in THEMES:
                    album = Album(into, words, size, theme)
                    take_strangers(browser, up.url, album)
                    with browsing(browser, up.url, album, state=state) as page:
                        take_pages(page, addresses, album)
                        take_chats(page, provider, album)
                        take_forgetting(page, album)


def addresses_of_pages(browser: Browser, url: str, state: dict) -> dict[str, str]:
    """By the name of the picture, which is that of the route."""
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "memoryapp.settings.test")
    django.setup()  # it knows the routes
    context = browser.new_context(base_url=url, storage_state=state)
    found = pages(context.request)
    context.close()
    return {route.replace(":", "-").replace("_", "-"): address for route, address in found.items()}


def take_strangers(browser: Browser, url: str, album: Album) -> None:
    with browsing(browser, url, album, state={}) as page:
        page.goto("/accounts/login/")
        album.add("sign-in", page)


def take_pages(page: Page, addresses: dict[str, str], album: Album) -> None:
    for name, address in addresses.items():
        if album.wants(name):
            page.goto(address)
            album.add(name, page)


def take_forgetting(page: Page, album: Album) -> None:
    """What stands behind its forms; nothing is forgotten in the end."""
    if album.wants("inspector-forget-preview"):
        page.goto("/memory/forget/?scope=everything")
        album.add("inspector-forget-preview", page)
    if album.wants("inspector-receipt"):
        forgotten(page)
        album.add("inspector-receipt", page)
        page.get_by_role("button", name="Undo").click()
    if album.wants("inspector-import"):
        looked_at(page)
        album.add("inspector-import", page)
        page.get_by_role("button", name="Throw the file away").click()


def take_chats(page: Page, provider: ModelServer, album: Album) -> None:
    """What a chat looks like while something happens in it."""
    page.goto("/?temporary=1")
    album.add("chat-temporary", page)
    if album.wants("chat", "chat-streaming", "chat-receipt"):
        take_reply(page, provider, album)
    if album.wants("chat-error"):
        provider.script(fails(401, "authentication_error"))
        wait_for_reply(page, new_chat(page, "Is anybody there?"))
        album.add("chat-error", page)
    if album.wants("chat-summarised"):
        page.goto("/memory/conversations/?show=summarised")
        page.locator(".said-row .item").first.click()
        page.get_by_role("link", name="Open in chat").first.click()
        page.get_by_text("summarised for the model").scroll_into_view_if_needed()
        album.add("chat-summarised", page)


def take_reply(page: Page, provider: ModelServer, album: Album) -> None:
    provider.script(reply(ANSWER, gate=GATE, hold_at=45))
    turn = new_chat(page, "What should I drink on my flight to Lisbon?")
    provider.wait_until_held(GATE)
    expect(turn).to_contain_text("before landing")
    album.add("chat-streaming", page)
    provider.release(GATE)
    wait_for_reply(page, turn)
    provider.reset()
    album.add("chat", page)
    receipt = page.locator(".receipt > summary").last
    if receipt.count():
        receipt.click()
        expect(page.locator(".receipt__list").first).to_be_visible()
        album.add("chat-receipt", page)


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
def browsing(browser: Browser, url: str, album: Album, *, state: dict) -> Iterator[Page]:
    width, height = SIZES[album.size]
    context: BrowserContext = browser.new_context(
        base_url=url,
        viewport={"width": width, "height": height},
        color_scheme=album.theme,
        reduced_motion="reduce",
        storage_state=state or None,
    )
    context.set_default_timeout(30_000)
    yield context.new_page()
    context.close()


if __name__ == "__main__":
    main(*sys.argv[1:])
