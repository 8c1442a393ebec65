"""Servers of tools in the admin: set up there, and their tokens written only."""

import pytest
from django.test import Client
from django.urls import reverse

from memoryapp.tooling import queries
from tests.tooling.mcp_server import TOKEN
from tests.turns import COMMITTED

pytestmark = COMMITTED  # the tools are listed after the commit

ADD = reverse("admin:tooling_mcpserver_add")
LIST = reverse("admin:tooling_mcpserver_changelist")


@pytest.fixture
def staff(carol):
    carol.is_superuser = True
    carol.save()
    browser = Client()
    browser.force_login(carol)
    return browser


@pytest.fixture
def post(staff):
    def post(address, **fields):
        return staff.post(address, fields, follow=True)

    return post


def form(url, **changes):
    return {
        "name": "Test tools",
        "slug": "tests",
        "url": url,
        "is_enabled": "on",
        "timeout_s": "10",
        "token": TOKEN,
        **changes,
    }


def change_page(server):
    return reverse("admin:tooling_mcpserver_change", args=[server.id])


def test_adding_a_server_lists_its_tools_and_says_how_many(post, tools_server):
    response = post(ADD, **form(tools_server.url))

    [server] = queries.servers()
    assert "Test tools offers 8 tools." in response.content.decode()
    assert len(server.tools) == 8


def test_a_server_that_does_not_answer_is_kept_with_the_reason(post):
    response = post(ADD, **form("http://127.0.0.1:1/mcp"))

    assert "cannot be reached" in response.content.decode()
    assert "cannot be reached" in queries.servers().get().error


def test_no_page_of_the_admin_has_the_token(staff, post, tools_server):
    added = post(ADD, **form(tools_server.url))
    server = queries.servers().get()

    pages = [added, staff.get(LIST), staff.get(change_page(server))]
    pages.append(staff.get(reverse("admin:tooling_mcpserver_history", args=[server.id])))
    refused = post(change_page(server), **form("nonsense"))

    for page in [*pages, refused]:
        assert page.status_code == 200
        assert TOKEN not in page.content.decode()
        assert server.sealed_token not in page.content.decode()


def test_an_empty_token_leaves_the_stored_one_and_a_tick_removes_it(post, server):
    post(change_page(server), **form(server.url, token="", name="Renamed"))
    renamed = queries.get_server(server.id)
    post(change_page(server), **form(server.url, token="", forget_token="on"))

    assert (renamed.name, renamed.sealed_token) == ("Renamed", server.sealed_token)
    assert queries.get_server(server.id).sealed_token == ""


def test_another_host_needs_the_token_again(post, server):
    response = post(change_page(server), **form("https://evil.example/mcp", token=""))

    assert "Enter the token again" in response.content.decode()
    assert queries.get_server(server.id).url == server.url


def test_refreshing_lists_again_and_says_what_failed(post, server):
    fine = post(LIST, action="refresh", _selected_action=str(server.id))
    queries.servers().update(url="http://127.0.0.1:1/mcp")
    failed = post(LIST, action="refresh", _selected_action=str(server.id))

    assert "Test tools offers 8 tools." in fine.content.decode()
    assert "cannot be reached" in failed.content.decode()
    assert len(queries.get_server(server.id).tools) == 8
