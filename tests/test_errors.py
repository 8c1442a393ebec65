"""What people and programs see when something is wrong, down to the databases themselves."""

import json

import pytest
from django.core.exceptions import PermissionDenied
from django.test import Client
from django.urls import path
from django.utils import timezone

from memoryapp import urls, views
from memoryapp.accounts import operations
from memoryapp.errors import NotFoundError
from tests.outages import postgres_is_gone, redis_is_gone

HTMX = {"HX-Request": "true"}
COMMITTED = pytest.mark.django_db(transaction=True, serialized_rollback=True)


def broken(_request):
    raise RuntimeError("a defect with a secret in its message")


def refused(_request):
    raise PermissionDenied


def missing(_request):
    raise NotFoundError("There is no such thing.")


urlpatterns = [
    *urls.urlpatterns,
    path("broken", broken),
    path("refused", refused),
    path("missing", missing),
    path("api/v1/broken", broken),
]
handler400, handler403, handler404, handler500 = (
    urls.handler400,
    urls.handler403,
    urls.handler404,
    urls.handler500,
)
with_broken_pages = pytest.mark.urls(__name__)


@pytest.fixture
def browser(alice):
    """Alice's, which shows what the server answers instead of raising it in the test."""
    browser = Client(raise_request_exception=False, enforce_csrf_checks=True)
    browser.force_login(alice)
    return browser


def assert_page(response, status, heading):
    html = response.content.decode()
    assert response.status_code == status
    assert heading in html
    assert "<html" in html
    assert "Traceback" not in html
    return html


def assert_fragment(response, status):
    html = response.content.decode()
    assert response.status_code == status
    assert 'class="notice notice--error"' in html
    assert "<html" not in html
    assert "Traceback" not in html
    return html


def assert_problem(response, status):
    problem = json.loads(response.content)
    assert response.status_code == status
    assert response["Content-Type"] == "application/problem+json"
    assert problem["status"] == status
    assert "Traceback" not in response.content.decode()
    return problem


def test_an_unknown_address_is_a_page(browser):
    html = assert_page(browser.get("/nonsense"), 404, "There is nothing here")

    assert html.count("There is nothing here") == 2  # the title of the page, and its heading
    assert "The address may be wrong, or what was here has been deleted." in html


def test_an_unknown_address_is_a_page_for_strangers_too(client, db):
    assert_page(client.get("/nonsense"), 404, "There is nothing here")


def test_an_unknown_address_is_a_fragment_for_htmx(browser):
    assert_fragment(browser.get("/nonsense", headers=HTMX), 404)


def test_a_form_without_its_token_is_not_taken(browser):
    html = assert_page(browser.post("/c/new", {"text": "Hello"}), 403, "This page was open too long")

    assert "Reload it and send again" in html


def test_a_form_without_its_token_is_a_fragment_for_htmx(browser):
    assert_fragment(browser.post("/c/new", {"text": "Hello"}, headers=HTMX), 403)


@with_broken_pages
def test_a_defect_is_a_page_that_tells_nothing_of_it(browser):
    html = assert_page(browser.get("/broken"), 500, "Something broke on our side")

    assert "secret" not in html


@with_broken_pages
def test_a_defect_is_a_fragment_for_htmx(browser):
    assert "secret" not in assert_fragment(browser.get("/broken", headers=HTMX), 500)


@with_broken_pages
def test_a_defect_is_a_problem_document_for_programs(browser):
    assert "secret" not in str(assert_problem(browser.get("/api/v1/broken"), 500))


@with_broken_pages
def test_a_defect_is_logged_with_its_traceback(browser, caplog):
    browser.get("/broken")

    assert "a defect with a secret in its message" in caplog.text


@with_broken_pages
def test_a_refused_page_says_so(browser):
    assert_page(browser.get("/refused"), 403, "This is not yours to see")


@with_broken_pages
def test_an_error_of_ours_shows_its_own_sentence(browser):
    assert "There is no such thing." in assert_page(browser.get("/missing"), 404, "There is nothing here")


@pytest.mark.parametrize(
    ("address", "page"),
    [
        ("/c/new", "/"),
        ("/c/00000000-0000-7000-8000-000000000000/send", "/c/00000000-0000-7000-8000-000000000000/"),
        (
            "/memory/facts/00000000-0000-7000-8000-000000000000/edit",
            "/memory/facts/00000000-0000-7000-8000-000000000000/",
        ),
        ("/settings/appearance", "/settings/"),
        ("/settings/tokens/00000000-0000-7000-8000-000000000000/revoke", "/settings/"),
    ],
)
def test_the_address_of_a_form_opened_as_a_page_leads_to_the_page_above(browser, address, page):
    response = browser.get(address)

    assert response.status_code == 302
    # Another form's address may come in between.
    while response["Location"] != page:
        response = browser.get(response["Location"])
        assert response.status_code == 302


def test_the_icon_is_found_where_browsers_look_for_it(client):
    response = client.get("/favicon.ico")

    assert response.status_code == 302
    assert response["Location"].endswith(".svg")


@pytest.mark.parametrize("method", ["put", "delete", "post"])
def test_a_method_that_a_page_does_not_answer_is_a_page(alice, method):
    browser = Client()
    browser.force_login(alice)

    response = getattr(browser, method)("/memory/")

    assert "Error 405" in assert_page(response, 405, "does not answer")
    assert response["Allow"] == "GET"


@pytest.mark.parametrize(
    "address",
    [
        "/?q=a%00b",
        "/memory/facts/?q=a%00b",
        "/memory/facts/?kind=a%00b",
        "/memory/facts/?origin=%00",
        "/c/a%00b/",
    ],
)
def test_nul_in_an_address_is_refused_and_not_a_defect(browser, address):
    assert browser.get(address).status_code in {200, 400, 404, 422}


@pytest.mark.parametrize("address", ["/memory/facts/", "/memory/conversations/", "/memory/runs/"])
@pytest.mark.parametrize("cursor", ["nonsense", "bnVsbA", "WyJhIiwiYiJd", "NQ"])
def test_a_cursor_that_is_not_ours_is_a_page(browser, address, cursor):
    response = browser.get(address, {"after": cursor})

    assert "Error 422" in assert_page(response, 422, "This cursor is not one of ours")


def test_a_forged_host_is_refused(browser, settings):
    settings.ALLOWED_HOSTS = ["strata.example"]

    assert_page(browser.get("/", headers={"Host": "evil.example"}), 400, "That request made no sense")


@pytest.mark.parametrize("status", [400, 403, 404, 405, 429, 500, 503])
@pytest.mark.parametrize("headers", [{}, HTMX], ids=["page", "fragment"])
def test_no_error_needs_the_database(rf, status, headers):
    """pytest-django refuses every query in a test without the mark."""
    request = rf.get("/", headers=headers)

    response = views.error_response(request, status, "A sentence.")

    assert response.status_code == status
    assert "A sentence." in response.content.decode()


class TestWithoutPostgres:
    pytestmark = COMMITTED

    @pytest.mark.parametrize("address", ["/", "/memory/", "/settings/", "/admin/"])
    def test_a_page_says_that_it_is_out_for_a_moment(self, browser, address):
        with postgres_is_gone():
            response = browser.get(address)

        assert_page(response, 503, "Strata is out for a moment")
        assert int(response["Retry-After"]) > 0

    def test_htmx_gets_the_fragment(self, browser):
        with postgres_is_gone():
            response = browser.get("/", headers=HTMX)

        assert "Nothing you sent before was lost" in assert_fragment(response, 503)

    def test_a_program_gets_a_problem_document(self, alice):
        _, secret = operations.create_token(alice, name="tests", now=timezone.now())
        program = Client(raise_request_exception=False, headers={"Authorization": f"Bearer {secret}"})

        with postgres_is_gone():
            response = program.get("/api/v1/kinds")

        assert assert_problem(response, 503)["detail"]
        assert int(response["Retry-After"]) > 0

    def test_signing_in_says_so_too(self, client, alice):
        client.raise_request_exception = False

        with postgres_is_gone():
            response = client.post("/accounts/login/", {"login": "alice", "password": "alice-password"})

        assert_page(response, 503, "Strata is out for a moment")

    def test_the_process_is_alive_but_not_ready(self, client):
        with postgres_is_gone():
            alive, ready = client.get("/healthz"), client.get("/readyz")

        assert alive.status_code == 200
        assert ready.status_code == 503
        assert ready.json()["dependencies"] == {"postgres": "unreachable", "redis": "ok"}

    def test_the_next_request_after_the_outage_is_served(self, browser):
        with postgres_is_gone():
            browser.get("/")

        assert browser.get("/").status_code == 200


class TestWithoutRedis:
    @pytest.mark.parametrize("address", ["/", "/memory/", "/memory/facts/", "/settings/"])
    def test_pages_are_served(self, browser, address):
        with redis_is_gone():
            assert browser.get(address).status_code == 200

    def test_signing_in_cannot_be_throttled_and_is_therefore_out(self, client, alice):
        client.raise_request_exception = False

        with redis_is_gone():
            response = client.post("/accounts/login/", {"login": "alice", "password": "alice-password"})

        assert_page(response, 503, "Strata is out for a moment")
        assert "_auth_user_id" not in client.session

    def test_a_one_time_link_still_signs_in(self, client, alice):
        link = operations.create_sign_in_link(alice)

        with redis_is_gone():
            client.get(link)

        assert client.session["_auth_user_id"] == str(alice.id)

    def test_the_process_is_alive_but_not_ready(self, client, db):
        with redis_is_gone():
            alive, ready = client.get("/healthz"), client.get("/readyz")

        assert alive.status_code == 200
        assert ready.status_code == 503
        assert ready.json()["dependencies"] == {"postgres": "ok", "redis": "unreachable"}


def test_everything_there_is_ready(client, db):
    response = client.get("/readyz")

    assert response.json() == {"status": "ok", "dependencies": {"postgres": "ok", "redis": "ok"}}
