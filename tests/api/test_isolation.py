"""Nobody reaches another person's rows: every route with an id, every method, every way of authenticating."""

from dataclasses import asdict
from uuid import uuid4

import pytest
from django.test import Client

from memoryapp.api import api as ninja
from tests.api.requests import BASE, assert_problem, send
from tests.api.routes import BODIES, ROUTES, ROUTES_OF_ROWS
from tests.world import CONTENT, everything_of, rows_of

METHODS = ("GET", "POST", "PUT", "PATCH", "DELETE")


def test_every_operation_with_a_body_has_an_example():
    schema = ninja.get_openapi_schema(path_prefix="")

    with_body = {
        route.name
        for route in ROUTES
        if "application/json"  # a file has tests of its own
        in schema["paths"][route.path][route.method.lower()].get("requestBody", {"content": ()})["content"]
    }

    assert with_body == BODIES.keys()


@pytest.mark.django_db(transaction=True, serialized_rollback=True)
@pytest.mark.parametrize("route", ROUTES_OF_ROWS, ids=str)
def test_alice_reaches_each_of_her_rows(api, alice, route):
    ids = asdict(everything_of(alice))

    response = send(api, route.method, route.path.format(**ids), route.body_for(ids), If_Match='"2"')

    assert response.status_code in {200, 201, 202, 204, 409}


def test_bob_gets_404_for_every_row_of_alice_and_changes_none(bobs_api, alice, subtests):
    ids = asdict(everything_of(alice))
    before = rows_of(alice)

    for route in ROUTES_OF_ROWS:
        with subtests.test(str(route)):
            response = send(
                bobs_api, route.method, route.path.format(**ids), route.body_for(ids), If_Match='"2"'
            )

            problem = assert_problem(response, 404, "not_found")
            assert CONTENT not in str(problem)
            assert rows_of(alice) == before


def test_no_other_method_reaches_a_row_of_alice(bobs_api, alice, subtests):
    ids = asdict(everything_of(alice))
    before = rows_of(alice)

    for path in sorted({route.path for route in ROUTES_OF_ROWS}):
        known = {route.method for route in ROUTES if route.path == path}
        with subtests.test(path):
            for method in set(METHODS) - known:
                assert_problem(send(bobs_api, method, path.format(**ids), {}), 405)

            assert rows_of(alice) == before


def test_bob_in_the_browser_gets_404_too(bob, alice, subtests):
    browser = Client()
    browser.force_login(bob)
    ids = asdict(everything_of(alice))
    before = rows_of(alice)

    for route in ROUTES_OF_ROWS:
        with subtests.test(str(route)):
            answer = send(
                browser, route.method, route.path.format(**ids), route.body_for(ids), If_Match='"2"'
            )

            assert_problem(answer, 404)
            assert rows_of(alice) == before


def test_an_unknown_id_and_a_foreign_one_are_answered_alike(bobs_api, alice, subtests):
    foreign = asdict(everything_of(alice))
    unknown = {name: uuid4() for name in foreign}

    for route in ROUTES_OF_ROWS:
        with subtests.test(str(route)):
            answers = [
                send(
                    bobs_api, route.method, route.path.format(**ids), route.body_for(ids), If_Match='"2"'
                ).content
                for ids in (foreign, unknown)
            ]

            assert answers[0] == answers[1]


@pytest.mark.parametrize(
    "path", ["/conversations", "/memories", "/memories?status=any", f"/memories?q={CONTENT}"]
)
def test_lists_hold_nothing_of_alice(bobs_api, alice, path):
    everything_of(alice)

    assert send(bobs_api, "GET", path).json() == {"items": [], "next_cursor": None}


def test_search_finds_nothing_of_alice(bobs_api, alice):
    everything_of(alice)

    assert send(bobs_api, "POST", "/memories/search", {"query": CONTENT}).json() == {"items": []}


def test_a_cursor_of_alice_opens_nothing_to_bob(api, bobs_api):
    for number in range(3):
        send(api, "POST", "/conversations", {"title": f"Alice {number}"})
    cursor = send(api, "GET", "/conversations?limit=1").json()["next_cursor"]

    assert send(bobs_api, "GET", f"/conversations?cursor={cursor}").json()["items"] == []


def test_addresses_with_ids_of_any_other_form_are_404(api):
    response = api.get(f"{BASE}/conversations/1%20OR%201=1")

    assert_problem(response, 404)
