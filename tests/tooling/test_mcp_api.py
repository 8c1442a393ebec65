"""Servers of tools over REST: staff look after them, everyone switches them in their own conversations."""

import pytest

from memoryapp.tooling import queries
from memoryapp.tooling.mcp import tools_of
from tests.api.conftest import program_of
from tests.api.requests import assert_problem, send
from tests.api.routes import ROUTES
from tests.tooling.mcp_server import TOKEN
from tests.turns import start

STAFF_ROUTES = [route for route in ROUTES if route.path.startswith("/mcp/")]


@pytest.fixture
def carols_api(carol):
    return program_of(carol)


@pytest.fixture
def api(alice):
    return program_of(alice)


def add(program, url, **fields):
    body = {"slug": "tests", "name": "Test tools", "url": url, "token": TOKEN, **fields}
    return send(program, "POST", "/mcp/servers", body)


@pytest.mark.parametrize("route", STAFF_ROUTES, ids=str)
def test_who_is_not_staff_is_refused(api, server, route):
    response = send(api, route.method, route.path.format(server_id=server.id), route.body)

    assert_problem(response, 403, "forbidden")
    assert queries.servers().get().name == "Test tools"


def test_staff_add_a_server_and_get_its_tools_and_not_its_token(carols_api, tools_server):
    response = add(carols_api, tools_server.url)

    body = response.json()
    assert response.status_code == 201
    assert body["tools"][0] == {"name": "echo", "description": "Says it again.", "read_only": True}
    assert (body["has_token"], body["error"]) == (True, "")
    listed = send(carols_api, "GET", "/mcp/servers")
    assert listed.json()["items"] == [body]
    for answer in (response, listed):
        assert TOKEN not in answer.content.decode()
        assert queries.servers().get().sealed_token not in answer.content.decode()


def test_a_server_that_does_not_answer_is_kept_with_the_reason(carols_api, db):
    response = add(carols_api, "http://127.0.0.1:1/mcp")

    assert response.status_code == 201
    assert "cannot be reached" in response.json()["error"]


def test_what_cannot_be_is_refused_and_a_refusal_does_not_say_the_token(carols_api, db):
    refused = add(carols_api, "nonsense")
    too_long = add(carols_api, "https://tools.example", token=TOKEN * 1_000)

    for response in (refused, too_long):
        assert_problem(response, 422)
        assert TOKEN not in response.content.decode()


def test_staff_change_it_refresh_it_and_take_it_away(carols_api, server):
    path = f"/mcp/servers/{server.id}"

    changed = send(carols_api, "PATCH", path, {"name": "Renamed"}).json()
    refreshed = send(carols_api, "POST", f"{path}/refresh").json()
    gone = send(carols_api, "DELETE", path)

    assert (changed["name"], changed["has_token"], changed["slug"]) == ("Renamed", True, "tests")
    assert refreshed["listed_at"] > changed["listed_at"]
    assert gone.status_code == 204
    assert_problem(send(carols_api, "POST", f"{path}/refresh"), 404, "not_found")


def test_another_host_needs_the_token_again(carols_api, server):
    response = send(carols_api, "PATCH", f"/mcp/servers/{server.id}", {"url": "https://evil.example/mcp"})

    assert_problem(response, 422, "token_needed_again")


def test_everyone_switches_servers_in_their_conversations(api, alice, server):
    conversation = start(alice)
    path = f"/conversations/{conversation.id}/servers"

    [off] = send(api, "GET", path).json()["items"]
    switched = send(api, "PUT", f"{path}/{server.id}", {"is_on": True}).json()
    [on] = send(api, "GET", path).json()["items"]

    assert off["is_on"] is False
    assert switched == on == {**off, "is_on": True}
    assert (on["name"], on["host"], len(on["tools"])) == ("Test tools", server.host, 8)
    assert on.keys() == {"id", "name", "host", "is_on", "tools"}
    assert tools_of(alice.id, conversation.id)


def test_a_conversation_of_somebody_else_is_not_found(bob, alice, server):
    theirs = f"/conversations/{start(alice).id}/servers"

    assert_problem(send(program_of(bob), "GET", theirs), 404, "not_found")
    assert_problem(send(program_of(bob), "PUT", f"{theirs}/{server.id}", {"is_on": True}), 404, "not_found")
    assert not server.uses.exists()
