"""A whole installation, as a person starts it, and a Chromium that signs in to it by the printed link."""

from collections.abc import Iterator
from dataclasses import dataclass, field

import pytest
from playwright.sync_api import Browser, BrowserContext, ConsoleMessage, Page, expect

from tests.modelserver import ModelServer
from tests.servers import throw_away_directory
from tests.stack import running

expect.set_options(timeout=20_000)  # a first reply waits for models to load, on a busy machine

PROVIDER_KEY = "sk-test-key"
NOTE_VIOLATIONS = """
window.violations = [];
document.addEventListener("securitypolicyviolation", (event) => violations.push(event.violatedDirective));
"""


@dataclass
class Installation:
    """``provider``: the model server behind it, or None for the built-in responder."""

    url: str
    provider: ModelServer | None
    storage_state: dict = field(default_factory=dict)


@pytest.fixture(scope="module", params=["built-in responder", "Messages API"])
def installation(request, chromium: Browser) -> Iterator[Installation]:
    """Signed in once, by the link that ``up`` printed."""
    if request.param == "built-in responder":
        with throw_away_directory() as directory, running(directory) as up:
            yield signed_in(chromium, up.url, up.wait_until_ready(), None)
        return
    with ModelServer(api_key=PROVIDER_KEY, persona="memory") as provider, throw_away_directory() as directory:
        keys = {"ANTHROPIC_API_KEY": PROVIDER_KEY, "ANTHROPIC_BASE_URL": provider.url}
        with running(directory, **keys) as up:
            yield signed_in(chromium, up.url, up.wait_until_ready(), provider)


@pytest.fixture(params=[(1280, 800), (390, 844)], ids=["desktop", "phone"])
def context(request, chromium: Browser, installation: Installation) -> Iterator[BrowserContext]:
    width, height = request.param
    context = chromium.new_context(
        viewport={"width": width, "height": height},
        base_url=installation.url,
        storage_state=installation.storage_state,
    )
    context.set_default_timeout(20_000)
    context.add_init_script(NOTE_VIOLATIONS)
    yield context
    context.close()


@pytest.fixture
def page(context: BrowserContext, installation: Installation) -> Iterator[Page]:
    """A page that must not break the content policy, log an error, nor ask another origin for anything."""
    page = context.new_page()
    foreign: list[str] = []
    errors: list[str] = []
    page.on(
        "request",
        lambda request: foreign.append(request.url) if _is_foreign(request.url, installation) else None,
    )
    page.on("console", lambda message: errors.append(message.text) if _is_defect(message) else None)
    page.on("pageerror", lambda error: errors.append(str(error)))
    yield page
    assert page.evaluate("window.violations ?? []") == []
    assert errors == []
    assert foreign == []


def _is_defect(message: ConsoleMessage) -> bool:
    """An error of ours, such as a refused style; a refused or lost request is what some tests are about."""
    return message.type == "error" and not message.text.startswith("Failed to load resource")


def _is_foreign(url: str, installation: Installation) -> bool:
    return not url.startswith((installation.url, "data:"))


def signed_in(chromium: Browser, url: str, link: str, provider: ModelServer | None) -> Installation:
    context = chromium.new_context(base_url=url)
    page = context.new_page()
    page.goto(link)
    assert page.title() == "New chat · Strata"
    state = context.storage_state()
    context.close()
    return Installation(url=url, provider=provider, storage_state=state)
