"""Setting a server up, its tools in a conversation, and a turn that uses them."""

import json
from uuid import uuid4

import pytest
from django.db import connection
from django.test import override_settings
from django.utils import timezone

from chat import sending
from memoryapp.errors import InvalidInputError, NotFoundError
from memoryapp.policies.trust import Origin
from memoryapp.scratchpad import queries as runs
from memoryapp.tooling import operations, queries
from memoryapp.tooling.mcp import ArgumentsRefusedError, check_arguments, tools_of
from memoryapp.tooling.models import McpServer
from memoryapp.tooling.operations import TokenNeededAgainError
from memoryapp.tooling.secrets import SecretKeyChangedError
from memoryapp.transcript import conversations
from tests.modelserver import calls, reply
from tests.tool_contexts import tool_context
from tests.tooling.mcp_server import TOKEN, listing, running
from tests.turns import COMMITTED, answer, ask, reply_to, start

OTHER_KEY = "another-" + "y" * 50


def tool(user, conversation, name):
    return next(tool for tool in tools_of(user.id, conversation.id) if tool.name == name)


@pytest.fixture
def conversation(alice):
    return start(alice)


@pytest.fixture
def used(alice, conversation, server):
    operations.use_server(alice.id, conversation.id, server.id, is_on=True)
    return server


class TestSettingUp:
    def test_a_saved_server_has_its_tools_listed(self, server):
        assert [tool["name"] for tool in server.tools][:2] == ["echo", "add"]
        assert server.listed_at
        assert server.error == ""

    def test_a_listing_that_fails_keeps_the_last_one_and_says_why(self, server):
        McpServer.objects.filter(id=server.id).update(url="http://127.0.0.1:1/mcp")
        server.refresh_from_db()

        again = operations.refresh_tools(server, now=timezone.now())

        assert again.tools == server.tools
        assert again.listed_at == server.listed_at
        assert again.error == "Test tools cannot be reached at 127.0.0.1:1."

    def test_another_address_starts_without_tools(self, server, set_up, tools_server):
        server.url = f"{tools_server.url}/elsewhere"

        operations.save_server(server, token=None)

        assert queries.get_server(server.id).tools == []

    def test_a_listing_of_an_address_that_is_no_longer_its_own_is_dropped(self, server):
        stale = queries.get_server(server.id)
        server.url = "http://127.0.0.1:1/mcp"
        operations.save_server(server, token=TOKEN)

        operations.refresh_tools(stale, now=timezone.now())

        assert queries.get_server(server.id).tools == []

    def test_an_odd_tool_and_one_that_says_the_token_do_not_spoil_the_listing(self, set_up):
        tools = """[
            {"name": "infinite", "inputSchema": {"type": "object", "properties": {"q": {"default": 1e999}}}},
            {"name": "dialect", "inputSchema": {"type": "object", "$schema": "http://["}},
            {"name": "half", "description": "\\u0000%s", "inputSchema": {"type": "object"}},
            {"name": "%s", "inputSchema": {"type": "object"}},
            {"name": "good", "inputSchema": {"type": "object"}}
        ]"""

        with running(listing(tools.replace("%s", TOKEN))) as url:
            server = set_up(url)

        assert [tool["name"] for tool in server.tools] == ["dialect", "half", "good"]
        assert server.tools[1]["description"] == "[token]"
        assert server.error == "Not offered: infinite (its schema is no JSON); [token] (its name)."
        assert TOKEN not in str(server.tools) + server.error

    @pytest.mark.parametrize(
        "fields",
        [
            {"slug": "with_underscore"},
            {"slug": "Upper"},
            {"slug": "x" * 25},
            {"slug": ""},
            {"name": ""},
            {"url": "tools.example/mcp"},
            {"url": "file:///etc/passwd"},
            {"url": "https://user:word@tools.example/mcp"},
            {"url": "https://tools.example/mcp#part"},
            {"url": "https://tools .example/mcp"},
            {"url": "https://tools.example:nine/mcp"},
            {"timeout_s": 0},
            {"timeout_s": 601},
        ],
        ids=str,
    )
    def test_what_cannot_be_is_refused_by_field(self, db, fields):
        server = McpServer(**{"slug": "tests", "name": "Tests", "url": "https://tools.example/mcp", **fields})

        with pytest.raises(InvalidInputError, match=next(iter(fields))):
            operations.save_server(server, token=None)

        assert not queries.servers().exists()

    def test_a_host_of_one_word_is_an_address(self, db):
        operations.save_server(McpServer(slug="a", name="A", url="http://tools:8000/mcp"), token=None)

        assert queries.servers().get().host == "tools:8000"

    def test_a_short_name_is_had_once(self, server):
        with pytest.raises(InvalidInputError, match="slug"):
            operations.save_server(McpServer(slug="tests", name="Two", url="https://two.example"), token=None)


class TestItsToken:
    def test_no_row_of_the_database_has_it(self, server):
        with connection.cursor() as cursor:
            cursor.execute("SELECT row_to_json(server)::text FROM tooling_mcpserver server")
            [[row]] = cursor.fetchall()

        assert server.sealed_token in row
        assert TOKEN not in row

    def test_it_is_not_sent_to_another_host_than_the_one_it_was_entered_for(self, server):
        server.url = "https://evil.example/mcp"

        with pytest.raises(TokenNeededAgainError):
            operations.save_server(server, token=None)

        assert queries.get_server(server.id).host != "evil.example"

    def test_an_empty_one_removes_it_and_none_leaves_it(self, server):
        operations.save_server(server, token=None)
        kept = queries.get_server(server.id).sealed_token
        operations.save_server(server, token="")

        assert kept
        assert queries.get_server(server.id).sealed_token == ""

    def test_under_another_secret_key_the_admin_is_told_to_enter_it_again(self, server):
        with override_settings(SECRET_KEY=OTHER_KEY):
            again = operations.refresh_tools(server, now=timezone.now())

        assert "SECRET_KEY has changed" in again.error
        assert again.tools == server.tools

    def test_under_another_secret_key_a_call_says_so(self, alice, conversation, used):
        echo = tool(alice, conversation, "mcp_tests_echo")

        with override_settings(SECRET_KEY=OTHER_KEY), pytest.raises(SecretKeyChangedError):
            echo.run({"text": "hi"}, tool_context(alice.id))

    def test_the_old_key_still_opens_it_as_a_fallback(self, server):
        with override_settings(SECRET_KEY=OTHER_KEY, SECRET_KEY_FALLBACKS=["tests-only-" + "x" * 50]):
            assert operations.refresh_tools(server, now=timezone.now()).error == ""


class TestInAConversation:
    def test_tools_are_off_until_switched_on(self, alice, conversation, server):
        assert tools_of(alice.id, conversation.id) == ()

    def test_a_switched_on_server_offers_its_tools_marked_as_a_strangers(self, alice, conversation, used):
        echo, add, *_ = tools_of(alice.id, conversation.id)

        assert (echo.name, add.name) == ("mcp_tests_echo", "mcp_tests_add")
        assert (echo.needs_approval, echo.untrusted_output, echo.source) == (
            True,
            True,
            f"Test tools at {used.host}",
        )
        assert (echo.side_effects, add.side_effects) == (False, True)
        assert echo.touches == f"Test tools at {used.host}"
        assert echo.definition.description == "Says it again."

    def test_they_are_in_that_conversation_alone_and_for_that_person(self, alice, bob, conversation, used):
        assert tools_of(alice.id, start(alice).id) == ()
        assert tools_of(alice.id, start(alice, is_temporary=True).id) == ()
        assert tools_of(bob.id, conversation.id) == ()

    def test_switching_twice_is_switching_once(self, alice, conversation, used):
        operations.use_server(alice.id, conversation.id, used.id, is_on=True)
        assert used.uses.count() == 1

        operations.use_server(alice.id, conversation.id, used.id, is_on=False)
        operations.use_server(alice.id, conversation.id, used.id, is_on=False)
        assert tools_of(alice.id, conversation.id) == ()

    def test_a_disabled_server_is_used_nowhere(self, alice, conversation, used):
        used.is_enabled = False
        operations.save_server(used, token=None)

        assert tools_of(alice.id, conversation.id) == ()
        assert not queries.offered_in(alice.id, conversation.id).exists()
        with pytest.raises(NotFoundError):
            operations.use_server(alice.id, conversation.id, used.id, is_on=True)

    def test_it_takes_one_statement(self, alice, conversation, used, django_assert_num_queries):
        with django_assert_num_queries(1):
            assert len(tools_of(alice.id, conversation.id)) > 1

    def test_the_order_is_by_server_and_then_the_servers_own(
        self, alice, conversation, used, set_up, tools_server
    ):
        first = set_up(tools_server.url, slug="a-first")
        operations.use_server(alice.id, conversation.id, first.id, is_on=True)

        names = [tool.name for tool in tools_of(alice.id, conversation.id)]

        assert names[:2] == ["mcp_a-first_echo", "mcp_a-first_add"]
        assert names.index("mcp_tests_echo") == len(names) // 2
        assert len(set(names)) == len(names)

    @pytest.mark.parametrize("whose", ["bob's", "deleted", "nobody's"])
    def test_a_conversation_that_is_not_theirs_is_not_found(self, alice, bob, server, whose):
        conversation_id = uuid4() if whose == "nobody's" else start(bob if whose == "bob's" else alice).id
        if whose == "deleted":
            conversations.delete_conversation(alice.id, conversation_id)

        with pytest.raises(NotFoundError):
            operations.use_server(alice.id, conversation_id, server.id, is_on=True)

        assert not server.uses.exists()


class TestACall:
    def test_it_reaches_the_server_with_its_key_and_comes_back_untrusted(
        self, alice, conversation, used, tools_server
    ):
        echo = tool(alice, conversation, "mcp_tests_echo")
        context = tool_context(alice.id)

        output = echo.run(echo.checked({"text": "hello"}), context)

        assert (output.content, output.origin) == ("hello", Origin.UNTRUSTED)
        assert (tools_server.texts[-1], tools_server.keys[-1]) == ("hello", context.idempotency_key)

    @pytest.mark.parametrize(
        ("arguments", "words"),
        [
            ({"a": "one", "b": 2}, "a: 'one' is not of type 'integer'"),
            ({"a": 1}, "'b' is a required property"),
        ],
    )
    def test_arguments_against_the_schema_are_refused_before_anyone_is_asked(
        self, alice, conversation, used, arguments, words
    ):
        with pytest.raises(ArgumentsRefusedError, match=words):
            tool(alice, conversation, "mcp_tests_add").checked(arguments)

    def test_a_strangers_regular_expression_is_not_run_here(self):
        slow = {"type": "string", "pattern": "^(a+)+$"}
        schema = {"type": "object", "properties": {"q": slow}, "patternProperties": {"^(a+)+$": {}}}

        check_arguments({**schema, "additionalProperties": False}, {"q": "a" * 40 + "!", "a" * 40 + "!": 1})

    def test_nor_is_it_under_a_dialect_of_its_own(self):
        slow = {"$schema": "https://json-schema.org/draft/2020-12/schema", "pattern": "^(a+)+$"}

        check_arguments({"type": "object", "properties": {"q": slow}}, {"q": "a" * 40 + "!"})

    @pytest.mark.parametrize(
        "level",
        [
            lambda deeper: {"allOf": [deeper] * 2},
            lambda deeper: {"anyOf": [{"not": deeper}, deeper]},
            lambda deeper: {"unevaluatedItems": False, "allOf": [deeper] * 2},
            lambda deeper: {"allOf": [{"properties": {"a": deeper}}, deeper, deeper]},
        ],
    )
    def test_a_short_schema_that_asks_for_endless_work_is_given_up(self, level):
        levels = {f"d{n}": level({"$ref": f"#/$defs/d{n + 1}"}) for n in range(60)}
        schema = {
            "type": "object",
            "$defs": {**levels, "d60": {}},
            "properties": {"a": {"$ref": "#/$defs/d0"}},
        }

        with pytest.raises(ArgumentsRefusedError, match="cannot be followed"):
            check_arguments(schema, {"a": []})

    def test_a_long_text_is_not_quoted_a_thousand_times(self):
        schema = {
            "type": "object",
            "properties": {"a": {"anyOf": [{"type": "null"}] * 900 + [{"type": "string"}]}},
        }

        check_arguments(schema, {"a": "x" * 100})
        with pytest.raises(ArgumentsRefusedError, match="cannot be followed"):
            check_arguments(schema, {"a": "x" * 100_000})

    def test_a_large_schema_and_many_arguments_are_checked_to_the_end(self):
        cell = {"anyOf": [{"type": "string"}, {"type": "number"}, {"type": "boolean"}, {"type": "null"}]}
        rows = {"type": "array", "items": {"type": "array", "items": cell}}
        schema = {"type": "object", "properties": {"rows": rows}}
        table = [["x", 1, True, None]] * 500

        check_arguments(schema, {"rows": table})
        with pytest.raises(ArgumentsRefusedError, match=r"rows\.500\.0"):
            check_arguments(schema, {"rows": [*table, [{}]]})

    @pytest.mark.parametrize(
        ("schema", "value"),
        [
            ({"multipleOf": 0.1}, 10**400),
            ({"multipleOf": 0.1}, float("inf")),
            ({"$ref": "#/type/0"}, 1),
            ({"$ref": 5}, 1),
            ({"$id": "http://[", "$ref": "x"}, 1),
            ({"minimum": "x"}, 1),
        ],
    )
    def test_whatever_the_check_trips_over_is_a_refusal(self, schema, value):
        with pytest.raises(ArgumentsRefusedError, match="cannot be followed"):
            check_arguments({"type": "object", "properties": {"n": schema}}, {"n": value})

    @pytest.mark.parametrize(
        "reference",
        [
            "http://127.0.0.1:1/schema.json",
            "file:///etc/passwd",
            "#/nowhere",
            "#",
            "https://json-schema.org/draft/2020-12/schema",  # the library has this one
        ],
    )
    def test_a_schema_that_leads_elsewhere_or_in_a_circle_is_not_followed(self, reference):
        schema = {"type": "object", "$ref": reference}

        with pytest.raises(ArgumentsRefusedError, match="cannot be followed"):
            check_arguments(schema, {"q": "x"})


@COMMITTED
@pytest.mark.usefixtures("nudges")
class TestInATurn:
    def test_a_yes_has_the_server_do_it(self, alice, model, conversation, used, tools_server):
        model.script(reply("Let me ask.", calls("mcp_tests_add", a=20, b=22)), reply("It is 42."))

        turn = ask(alice, "Add 20 and 22", conversation)
        [asked] = runs.approvals(alice.id, [turn.id])
        sending.decide(alice, turn.id, asked.tool_use_id, approve=True, nonce=asked.nonce)
        ended = answer(turn)

        assert asked.touches == f"Test tools at {used.host}"
        assert reply_to(ended) == "Let me ask.\n\nIt is 42."
        [step] = runs.steps(ended.run)
        assert (step.action, step.status, step.observation) == ("mcp_tests_add", "ok", "42")
        assert step.origin == Origin.UNTRUSTED

    def test_a_no_does_not(self, alice, model, conversation, used, tools_server):
        model.script(reply(calls("mcp_tests_echo", text="private")), reply("As you wish."))

        turn = ask(alice, "Say it there", conversation)
        [asked] = runs.approvals(alice.id, [turn.id])
        sending.decide(alice, turn.id, asked.tool_use_id, approve=False, nonce=asked.nonce)
        answer(turn)

        assert "private" not in tools_server.texts

    def test_arguments_that_do_not_fit_are_told_to_the_model_and_nobody_is_asked(
        self, alice, model, conversation, used
    ):
        model.script(reply(calls("mcp_tests_add", a="many", b=1)), reply("I cannot."))

        ended = ask(alice, "Add", conversation)

        assert ended.status == "completed"
        assert list(runs.approvals(alice.id, [ended.id])) == []
        [result] = [b for b in model.calls[1].body["messages"][-1]["content"] if b["type"] == "tool_result"]
        assert json.loads(result["content"])["error"] == "arguments_refused"

    def test_in_another_conversation_the_model_is_not_told_of_them(self, alice, model, used):
        model.script(reply("Hello."))

        ask(alice, "Hello", start(alice))

        assert not [tool for tool in model.calls[0].body["tools"] if tool["name"].startswith("mcp_")]
