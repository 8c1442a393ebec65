"""Who is let in, on every route: a token, or a browser's session with its CSRF token."""

import pytest
from django.test import Client

from tests.api.requests import BASE, assert_problem, send
from tests.api.routes import ROUTES, UNSAFE_ROUTES
from tests.world import rows_of

ID = "00000000-0000-7000-8000-000000000000"
SOME_IDS = dict.fromkeys(
    [
        "conversation_id",
        "turn_id",
        "tool_use_id",
        "memory_id",
        "line_id",
        "message_id",
        "experience_id",
        "server_id",
        "receipt_id",
        "import_id",
        "slug",
    ],
    ID,
)


def address(route):
    return route.path.format(**SOME_IDS)


@pytest.fixture
def browser(alice):
    browser = Client(enforce_csrf_checks=True)
    browser.force_login(alice)
    return browser


@pytest.mark.parametrize("route", ROUTES, ids=str)
def test_a_stranger_is_told_to_authenticate(db, route):
    stranger = Client(enforce_csrf_checks=True)

    response = send(stranger, route.method, address(route), route.body)

    assert_problem(response, 401, "unauthenticated")
    assert response["WWW-Authenticate"] == "Bearer"


@pytest.mark.parametrize(
    "header", ["Bearer wrong", "Bearer", "bearer \x00", "Basic YWxpY2U6YWxpY2U=", "nonsense"]
)
def test_a_header_that_authenticates_nobody_is_refused(db, header):
    assert_problem(Client().get(f"{BASE}/kinds", headers={"Authorization": header}), 401, "unauthenticated")


@pytest.mark.parametrize("route", UNSAFE_ROUTES, ids=str)
def test_a_session_without_its_csrf_token_changes_nothing(browser, alice, route):
    before = rows_of(alice)

    response = send(browser, route.method, address(route), route.body, If_Match='"1"')

    assert "X-CSRFToken" in assert_problem(response, 403, "csrf_failed")["detail"]
    assert rows_of(alice) == before


def test_a_session_with_its_csrf_token_is_let_in(browser):
    token = browser.get("/").context["csrf_token"]

    response = send(browser, "POST", "/conversations", {}, X_CSRFToken=str(token))

    assert response.status_code == 201


def test_a_csrf_token_does_not_help_from_another_site(browser):
    token = browser.get("/").context["csrf_token"]

    response = send(
        browser, "POST", "/conversations", {}, X_CSRFToken=str(token), Origin="https://evil.example"
    )

    assert_problem(response, 403, "csrf_failed")


def test_a_session_reads_without_a_csrf_token(browser):
    assert send(browser, "GET", "/kinds").status_code == 200


def test_a_token_needs_no_csrf_token(api):
    api.handler.enforce_csrf_checks = True

    assert send(api, "POST", "/conversations", {}).status_code == 201


def test_answers_to_a_token_are_kept_in_no_cache(api):
    assert "no-store" in send(api, "GET", "/kinds")["Cache-Control"]
