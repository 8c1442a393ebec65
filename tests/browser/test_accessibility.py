"""Nothing serious for people who do not see or point, on any page, in either theme: axe-core says so."""

from collections.abc import Iterator
from contextlib import contextmanager
from importlib.resources import files

import pytest
from playwright.sync_api import Browser, Page

from tests.browser.conftest import Installation, signed_in
from tests.browser.visiting import forgotten, looked_at, pages
from tests.screenshots import fill
from tests.servers import migrated_directory
from tests.stack import running

pytestmark = [pytest.mark.browser, pytest.mark.stack]

AXE = files("axe_playwright_python").joinpath("axe.min.js").read_text(encoding="utf-8")
FIND_VIOLATIONS = """async () => {
  const found = await axe.run(document, {resultTypes: ["violations"]});
  return found.violations.filter(({impact}) => impact === "serious" || impact === "critical")
    .map(({id, nodes}) => `${id}: ${nodes.slice(0, 3).map(({html}) => html.slice(0, 160)).join(" … ")}`);
}"""
ENTRANCES = ("/accounts/login/", "/accounts/signup/")


@pytest.fixture(scope="module")
def installation() -> Iterator[Installation]:
    """With the example data: a page without rows shows little."""
    with migrated_directory() as directory, running(directory) as up:
        link = up.wait_until_ready()
        fill(directory)
        yield signed_in(up.url, link)


@pytest.fixture(scope="module")
def addresses(chromium: Browser, installation: Installation) -> dict[str, str]:
    context = chromium.new_context(base_url=installation.url, storage_state=installation.storage_state)
    found = pages(context.request)
    context.close()
    return found


# A page for each theme: one that changes under the eyes is measured in the middle of its transitions.
@pytest.fixture(params=["light", "dark"])
def theme(request) -> str:
    return request.param


def test_no_page_has_a_serious_barrier(
    chromium: Browser, installation: Installation, addresses: dict[str, str], theme: str
):
    with browsing(chromium, installation, theme, state=installation.storage_state) as page:
        barriers = {
            route: problems for route, address in addresses.items() if (problems := violations(page, address))
        }

    assert len(addresses) > 35, sorted(addresses)
    assert barriers == {}


def test_nothing_that_forgetting_and_importing_lead_to_has_a_serious_barrier(
    chromium: Browser, installation: Installation, theme: str
):
    with browsing(chromium, installation, theme, state=installation.storage_state) as page:
        addresses = [
            "/memory/forget/?scope=recent&id=day",
            "/memory/forget/?scope=everything",
            "/memory/forget/?scope=account",
            forgotten(page),
            "/memory/receipts/",
            looked_at(page),
        ]
        barriers = {address: problems for address in addresses if (problems := violations(page, address))}

    assert barriers == {}


def test_no_way_in_has_a_serious_barrier(chromium: Browser, installation: Installation, theme: str):
    with browsing(chromium, installation, theme, state=None) as page:
        barriers = {address: problems for address in ENTRANCES if (problems := violations(page, address))}

    assert barriers == {}


@contextmanager
def browsing(
    chromium: Browser, installation: Installation, theme: str, *, state: dict | None
) -> Iterator[Page]:
    context = chromium.new_context(
        viewport={"width": 1280, "height": 800},
        base_url=installation.url,
        storage_state=state,
        color_scheme=theme,
        reduced_motion="reduce",
    )
    yield context.new_page()
    context.close()


def violations(page: Page, address: str) -> list[str]:
    page.goto(address)
    page.evaluate(AXE)
    return page.evaluate(FIND_VIOLATIONS)
