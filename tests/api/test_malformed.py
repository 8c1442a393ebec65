"""What cannot be understood is refused with what to do, and leaves nothing behind."""

import json

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.api.requests import BASE, assert_problem, send
from tests.api.routes import BODIES, ROUTES
from tests.world import rows_of

WITH_BODY = [route for route in ROUTES if route.body is not None]
ID = "00000000-0000-7000-8000-000000000000"
DEEP = b"[" * 100_000 + b"]" * 100_000
UNREADABLE = {
    "cut off": b'{"text": "Hel',
    "not JSON": b"text=Hello",
    "invalid UTF-8": b'{"text": "\xff\xfe\xfa"}',
    "very deep": DEEP,
    "very deep inside": b'{"text": ' + DEEP + b"}",
    "NUL outside of strings": b'{"text": \x00}',
}


@pytest.fixture
def ids(conversation, api):
    memory = send(api, "POST", "/memories", {"statement": "Drinks tea"}).json()
    elsewhere = dict.fromkeys(
        ("turn_id", "message_id", "experience_id", "tool_use_id", "server_id", "receipt_id", "import_id"), ID
    )
    return {"conversation_id": conversation["id"], "memory_id": memory["id"], "slug": "event", **elsewhere}


def send_bytes(api, route, ids, body):
    path = BASE + route.path.format(**ids)
    return api.generic(route.method, path, body, content_type="application/json", headers={"If-Match": '"1"'})


@pytest.mark.parametrize("body", UNREADABLE.values(), ids=UNREADABLE.keys())
def test_a_body_that_cannot_be_read_is_400(api, alice, ids, body, subtests):
    before = rows_of(alice)

    for route in WITH_BODY:
        with subtests.test(str(route)):
            assert_problem(send_bytes(api, route, ids, body), 400, "malformed_request")

    assert rows_of(alice) == before


@pytest.mark.parametrize("body", [[], 5, "text", None, True], ids=repr)
def test_a_body_that_is_no_object_is_422(api, alice, ids, body, subtests):
    before = rows_of(alice)

    for route in WITH_BODY:
        with subtests.test(str(route)):
            assert_problem(send_bytes(api, route, ids, json.dumps(body).encode()), 422)

    assert rows_of(alice) == before


NOT_TEXT = {
    "NUL": rb'"a\u0000b"',
    "half a pair": rb'"a\ud800b"',
    "half a pair in raw bytes": b'"a\xed\xa0\x80b"',
    "inside a list": rb'[{"deep": "\udfff"}]',
}


@pytest.mark.parametrize("value", NOT_TEXT.values(), ids=NOT_TEXT.keys())
def test_what_is_not_text_is_refused_in_every_field(api, alice, ids, value, subtests):
    before = rows_of(alice)
    fields = ("text", "title", "statement", "query", "key", "kind", "value", "unknown")
    body = b"{" + b",".join(b'"%s": %s' % (field.encode(), value) for field in fields) + b"}"

    for route in WITH_BODY:
        with subtests.test(str(route)):
            assert_problem(send_bytes(api, route, ids, body), 422, "malformed_text")

    assert rows_of(alice) == before


def test_what_is_not_text_is_refused_as_the_name_of_a_field(api, alice):
    assert_problem(
        send(api, "POST", "/memories", {"statement": "Drinks tea", "\x00": 1}), 422, "malformed_text"
    )


@pytest.mark.parametrize(
    "field", ["q", "kind", "key", "origin", "status", "sort", "cursor", "expires_before", "x"]
)
def test_nul_in_a_filter_is_refused(api, field):
    assert_problem(send(api, "GET", f"/memories?{field}=a%00b"), 422)


@pytest.mark.parametrize("field", ["q", "cursor", "limit"])
def test_nul_in_a_filter_of_conversations_is_refused(api, field):
    assert_problem(send(api, "GET", f"/conversations?{field}=a%00b"), 422)


@pytest.mark.parametrize("value", ["%FF%FE", "%ED%A0%80", "%E2%80%8B", "%25_%5C", "'"])
def test_odd_bytes_in_a_filter_find_nothing(api, value):
    send(api, "POST", "/memories", {"statement": "Drinks tea"})

    assert send(api, "GET", f"/memories?q={value}").json()["items"] == []


@pytest.mark.parametrize(
    ("path", "body"),
    [
        ("/conversations", {"title": 5}),
        ("/conversations", {"temporary": "perhaps"}),
        ("/memories", {"statement": {"a": 1}}),
        ("/memories", {}),
        ("/memories/search", {"query": "x", "include": ["everything"]}),
    ],
    ids=str,
)
def test_a_wrong_type_is_refused_and_the_field_is_named(api, path, body):
    problem = assert_problem(send(api, "POST", path, body), 422, "invalid_input")

    assert problem["fields"]
    assert all(field["where"] not in {"", "body"} and field["problem"] for field in problem["fields"])
    assert not any(field["where"].startswith("body.") for field in problem["fields"])


def test_a_field_that_there_is_not_is_refused_by_name(api, alice, ids, subtests):
    before = rows_of(alice)

    for route in WITH_BODY:
        body = json.dumps({**BODIES[route.name], "is_temporary": True}).encode()
        with subtests.test(str(route)):
            problem = assert_problem(send_bytes(api, route, ids, body), 422, "invalid_input")

            assert [field["where"] for field in problem["fields"]] == ["is_temporary"]

    assert rows_of(alice) == before


def test_a_body_larger_than_any_message_is_413(api, conversation):
    body = json.dumps({"text": "x" * 2_000_000})

    response = api.post(
        f"{BASE}/conversations/{conversation['id']}/turns", body, content_type="application/json"
    )

    assert_problem(response, 413, "body_too_big")


def test_an_unknown_address_of_the_api_is_a_problem_document(api):
    assert_problem(api.get(f"{BASE}/nonsense"), 404, "not_found")


def test_a_method_that_is_not_served_is_a_problem_document(api):
    response = api.put(f"{BASE}/kinds", {}, content_type="application/json")

    assert_problem(response, 405, "method_not_allowed")
    assert set(response["Allow"].split(", ")) == {"GET", "POST"}


json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(st.characters(), max_size=40),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=10), inner, max_size=3),
    max_leaves=5,
)
fields = st.sampled_from(
    [
        "text",
        "title",
        "temporary",
        "use_memory",
        "statement",
        "kind",
        "key",
        "value",
        "confidence",
        "query",
        "limit",
    ]
)


@pytest.mark.parametrize("route", WITH_BODY, ids=str)
@settings(
    max_examples=60,
    deadline=None,
    derandomize=True,
    suppress_health_check=[HealthCheck.function_scoped_fixture],
)
@given(body=st.dictionaries(fields, json_values, max_size=5))
def test_no_json_makes_the_server_fail(api, ids, route, body):
    response = send_bytes(api, route, ids, json.dumps(body).encode())

    assert response.status_code < 500
