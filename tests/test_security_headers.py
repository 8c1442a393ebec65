"""The headers that tell browsers what our pages never do."""

from dataclasses import asdict

import pytest
from django.test import Client

from tests.addresses import addresses
from tests.world import everything_of

POLICY = {
    "default-src": "'none'",
    "script-src": "'self'",
    "style-src": "'self'",
    "img-src": "'self' data:",
    "font-src": "'self'",
    "connect-src": "'self'",
    "manifest-src": "'self'",
    "form-action": "'self'",
    "frame-ancestors": "'none'",
    "base-uri": "'none'",
}
FIXED = {
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "same-origin",
    "X-Frame-Options": "DENY",
    "Cross-Origin-Opener-Policy": "same-origin",
}
STREAMS = ("/stream", "/events")


def policy_of(response):
    directives = (part.strip().partition(" ") for part in response["Content-Security-Policy"].split(";"))
    return {name: sources for name, _, sources in directives}


def assert_headers(response, address):
    assert policy_of(response) == POLICY, address
    assert {name: response.get(name) for name in FIXED} == FIXED, address


@pytest.fixture
def browser(alice):
    browser = Client()
    browser.force_login(alice)
    return browser


def test_every_page_carries_the_policy(alice, browser):
    for address in addresses(asdict(everything_of(alice))):
        if not address.endswith(STREAMS):
            assert_headers(browser.get(address), address)


@pytest.mark.parametrize(
    "address", ["/nonsense", "/accounts/login/", "/sign-in/nonsense", "/memory/", "/api/v1/kinds"]
)
def test_what_strangers_see_carries_the_policy(client, db, address):
    assert_headers(client.get(address), address)


@pytest.mark.parametrize("address", ["/", "/memory/", "/settings/", "/api/v1/kinds", "/admin/", "/nonsense"])
def test_private_pages_are_kept_in_no_cache(browser, address):
    assert "no-store" in browser.get(address)["Cache-Control"]


@pytest.mark.django_db(transaction=True, serialized_rollback=True)
@pytest.mark.parametrize("address", ["/t/{turn_id}/stream", "/api/v1/turns/{turn_id}/events"])
def test_streams_are_neither_kept_nor_changed_on_the_way(alice, browser, address):
    ids = asdict(everything_of(alice))

    response = browser.get(address.format(**ids))

    assert response.status_code == 200
    assert {"no-store", "no-transform"} <= set(response["Cache-Control"].replace(",", "").split())
    assert response["X-Accel-Buffering"] == "no"
    assert_headers(response, address)


@pytest.mark.parametrize(
    "address", ["/static/css/base.css", "/static/js/page.js", "/static/vendor/htmx/htmx.min.js"]
)
def test_files_may_be_kept_and_are_what_they_say(client, address):
    response = client.get(address)

    assert response.status_code == 200
    assert "max-age=" in response["Cache-Control"]
    assert response["X-Content-Type-Options"] == "nosniff"


def test_no_page_tells_what_it_runs_on(browser):
    response = browser.get("/")

    assert "Server" not in response
    assert "X-Powered-By" not in response
