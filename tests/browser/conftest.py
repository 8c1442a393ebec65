"""A whole installation, as a person starts it, and a Chromium that is signed in to it."""

from collections.abc import Iterator
from dataclasses import dataclass, field
from http.cookiejar import CookieJar
from urllib.request import HTTPCookieProcessor, build_opener

import pytest
from playwright.sync_api import Browser, BrowserContext, ConsoleMessage, Page, expect

from tests.chromium import launched
from tests.modelserver import ModelServer
from tests.servers import migrated_directory
from tests.stack import running

expect.set_options(timeout=20_000)  # a first reply waits for models to load, on a busy machine

PROVIDER_KEY = "sk-test-key"
SIZES = {"desktop": (1280, 800), "phone": (390, 844)}
# Both who answer and both sizes, but not each with each: neither changes what the other shows.
WITH_BOTH = [
    pytest.mark.usefixtures("context"),
    pytest.mark.parametrize(
        ("installation", "context"),
        [("built-in responder", "desktop"), ("Messages API", "phone")],
        indirect=True,
        scope="module",
    ),
]
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


@pytest.fixture(scope="package")
def chromium() -> Iterator[Browser]:
    """One for all: nothing here asks Django for its database."""
    with launched() as browser:
        yield browser


@pytest.fixture(scope="package")
def offline() -> Iterator[Installation]:
    with migrated_directory() as directory, running(directory) as up:
        yield signed_in(up.url, up.wait_until_ready())


@pytest.fixture(scope="package")
def online() -> Iterator[Installation]:
    with ModelServer(api_key=PROVIDER_KEY, persona="memory") as provider, migrated_directory() as directory:
        keys = {"ANTHROPIC_API_KEY": PROVIDER_KEY, "ANTHROPIC_BASE_URL": provider.url}
        with running(directory, **keys) as up:
            yield signed_in(up.url, up.wait_until_ready(), provider)


@pytest.fixture(scope="module", params=["built-in responder", "Messages API"])
def installation(request) -> Installation:
    """Several modules use it: what they say and find is their own."""
    return request.getfixturevalue("offline" if request.param == "built-in responder" else "online")


@pytest.fixture(params=list(SIZES))
def context(request, chromium: Browser, installation: Installation) -> Iterator[BrowserContext]:
    width, height = SIZES[request.param]
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


def signed_in(url: str, link: str, provider: ModelServer | None = None) -> Installation:
    """By the link that ``up`` printed, which works once."""
    jar = CookieJar()
    with build_opener(HTTPCookieProcessor(jar)).open(url + link) as page:
        assert "<title>New chat · Strata</title>" in page.read().decode()
    cookies = [
        {"name": cookie.name, "value": cookie.value, "domain": cookie.domain, "path": cookie.path}
        for cookie in jar
    ]
    return Installation(url=url, provider=provider, storage_state={"cookies": cookies, "origins": []})
