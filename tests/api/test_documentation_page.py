"""The API's documentation in a real Chromium, under the real content policy."""

import pytest
from django.conf import settings
from django.test import Client
from playwright.sync_api import expect

from tests.chromium import launched

pytestmark = [pytest.mark.browser, pytest.mark.django_db(transaction=True, serialized_rollback=True)]

WATCH = """
window.violations = [];
document.addEventListener("securitypolicyviolation", (event) =>
  violations.push([event.violatedDirective, event.blockedURI, event.sourceFile, event.sample].join(" ")));
"""


@pytest.fixture
def page(live_server, alice):
    browser = Client()
    browser.force_login(alice)
    session = {
        "name": settings.SESSION_COOKIE_NAME,
        "value": browser.cookies[settings.SESSION_COOKIE_NAME].value,
        "url": live_server.url,
    }
    with launched() as chromium:
        context = chromium.new_context()
        context.add_cookies([session])
        page = context.new_page()
        page.add_init_script(WATCH)
        yield page


def test_the_documentation_works_and_violates_no_policy(page, live_server):
    page.goto(f"{live_server.url}/api/v1/docs")

    listing = page.get_by_role("link", name="/api/v1/kinds", exact=True).first
    expect(listing).to_be_visible(timeout=20_000)
    listing.click()
    page.get_by_role("button", name="Try it out").click()
    page.get_by_role("button", name="Execute").click()
    expect(page.get_by_text("rationale").first).to_be_visible()
    assert page.evaluate("violations") == []
