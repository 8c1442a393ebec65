"""A walk over every address: none fails, none is open to strangers, none shows bob what is alice's."""

from dataclasses import asdict

import pytest
from django.test import Client

from tests.addresses import addresses
from tests.downloads import bytes_of
from tests.world import CONTENT, everything_of, rows_of

OPEN_TO_STRANGERS = {
    "/healthz",
    "/readyz",
    "/favicon.ico",
    "/admin/login/",
    "/settings/appearance",
    "/sign-in/unknown",
}
# The streams are read in their own tests; here they would hold the walk up.
STREAMS = ("/stream", "/events")
SIGN_IN = ("/accounts/login/", "/admin/")  # the admin leads on to the first
COMMITTED = pytest.mark.django_db(transaction=True, serialized_rollback=True)


def walk(ids):
    return [address for address in addresses(ids) if not address.endswith(STREAMS)]


@pytest.fixture
def ids(alice):
    return asdict(everything_of(alice))


def browser_of(user):
    browser = Client()
    browser.force_login(user)
    return browser


def test_the_walk_covers_every_room(db):
    found = walk({})

    for known in ("/", "/memory/facts/", "/settings/", "/accounts/login/", "/api/v1/kinds", "/admin/"):
        assert known in found
    assert len(found) > 100


def test_no_page_of_alice_fails(alice, ids):
    browser = browser_of(alice)

    statuses = {
        address: browser.get(address).status_code for address in walk(ids) if address != "/accounts/logout/"
    }

    assert {address: status for address, status in statuses.items() if status >= 500} == {}
    assert statuses[f"/c/{ids['conversation_id']}/"] == 200
    assert statuses[f"/memory/facts/{ids['memory_id']}/"] == 200
    assert statuses[f"/memory/runs/{ids['run_id']}/"] == 200


def test_no_form_of_alice_fails_when_it_comes_empty(alice, ids):
    browser = browser_of(alice)

    for address in walk(ids):
        if not address.startswith("/admin/"):
            assert browser.post(address).status_code < 500, address
            browser.force_login(alice)


def test_strangers_are_sent_to_sign_in(ids):
    for address in walk(ids):
        if address.startswith(("/accounts/", "/api/", "/metrics")) or address in OPEN_TO_STRANGERS:
            continue
        response = Client().get(address)
        is_asked_to_sign_in = response.status_code == 302 and response["Location"].startswith(SIGN_IN)
        assert is_asked_to_sign_in or response.status_code in {404, 405}, address
        assert CONTENT not in response.content.decode(), address


def test_bob_sees_nothing_of_alice(bob, alice, ids):
    browser = browser_of(bob)
    before = rows_of(alice)

    for address in walk(ids):
        if address.startswith("/api/"):
            continue  # tests/api/test_isolation.py, with the bodies that it takes
        for answer in (
            browser.get(address),
            browser.post(address, {"version": "2", "text": "x", "title": "x"}),
        ):
            assert answer.status_code < 500, address
            assert CONTENT.encode() not in bytes_of(answer), address
            if any(str(value) in address for value in ids.values()):
                assert answer.status_code in {302, 403, 404, 405}, address
        browser.force_login(bob)

    assert rows_of(alice) == before


@COMMITTED
def test_bob_hears_nothing_of_the_streams_of_alice(bob, alice, ids):
    browser = browser_of(bob)

    for address in addresses(ids):
        if address.endswith(STREAMS):
            assert browser.get(address).status_code == 404
