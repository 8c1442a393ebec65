"""Nothing serious for people who do not see or point, on any page, in either theme: axe-core says so."""

from collections.abc import Iterator
from importlib.resources import files

import pytest
from playwright.sync_api import Browser, BrowserContext, Page

from tests.browser.conftest import Installation, signed_in
from tests.browser.visiting import pages
from tests.screenshots import fill
from tests.servers import throw_away_directory
from tests.stack import running

pytestmark = [pytest.mark.browser, pytest.mark.stack]

AXE = files("axe_playwright_python").joinpath("axe.min.js").read_text(encoding="utf-8")
FIND_VIOLATIONS = """async () => {
  const found = await axe.run(document, {resultTypes: ["violations"]});
  return found.violations.filter(({impact}) => impact === "serious" || impact === "critical")
    .map(({id, nodes}) => `${id}: ${nodes.slice(0, 3).map(({html}) => html.slice(0, 160)).join(" … ")}`);
}"""


@pytest.fixture(scope="module")
def installation(chromium: Browser) -> Iterator[Installation]:
    """With the example data: a page without rows shows little."""
    with throw_away_directory() as directory, running(directory) as up:
        link = up.wait_until_ready()
        fill(directory)
        yield signed_in(chromium, up.url, link, None)


@pytest.fixture(params=["light", "dark"])
def context(request, chromium: Browser, installation: Installation) -> Iterator[BrowserContext]:
    context = chromium.new_context(
        viewport={"width": 1280, "height": 800},
        base_url=installation.url,
        storage_state=installation.storage_state,
        color_scheme=request.param,
        reduced_motion="reduce",
    )
    yield context
    context.close()


def test_no_page_has_a_serious_barrier(context: BrowserContext):
    found = pages(context.request)
    page = context.new_page()

    barriers = {
        route: problems for route, address in found.items() if (problems := violations(page, address))
    }

    assert len(found) > 25, sorted(found)
    assert barriers == {}


def violations(page: Page, address: str) -> list[str]:
    page.goto(address)
    page.evaluate(AXE)
    return page.evaluate(FIND_VIOLATIONS)
