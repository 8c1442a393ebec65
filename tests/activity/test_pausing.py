"""Paused, memory gives nothing to anybody, and what was said while saving was paused is never learned."""

import json
from datetime import UTC, datetime, timedelta

import pytest

from chat import turn as loop
from memoryapp.accounts import operations as accounts
from memoryapp.lifecycle import promotion
from memoryapp.lifecycle.switches import switch_memory
from memoryapp.scratchpad import queries as runs
from memoryapp.transcript import sources
from tests.context.saying import talk
from tests.longterm.saying import live, remember
from tests.modelserver import calls, reply
from tests.turns import COMMITTED, ask

pytestmark = pytest.mark.usefixtures("nudges")
NOW = datetime(2026, 11, 30, 9, 0, tzinfo=UTC)


def once_begun(monkeypatch, happens) -> None:
    """Between the first recall of a turn and its first tool."""
    begin = loop._begin

    def begun(*args, **values):
        progress = begin(*args, **values)
        happens()
        return progress

    monkeypatch.setattr(loop, "_begin", begun)


@COMMITTED
class TestUse:
    def test_nothing_is_recalled_and_no_memory_tool_is_offered(self, alice, model):
        remember(alice, "Always answer in French", kind="constraint")
        switch_memory(alice.id, use=False)

        ask(alice, "Hello")

        [call] = model.calls
        assert "French" not in json.dumps(call.body)
        assert not {"recall", "get_fact", "list_facts"} & {tool["name"] for tool in call.body["tools"]}
        assert "remember" in {tool["name"] for tool in call.body["tools"]}

    def test_it_is_used_again_when_it_is_resumed(self, alice, model):
        remember(alice, "Always answer in French", kind="constraint")
        switch_memory(alice.id, use=False)
        switch_memory(alice.id, use=True)

        ask(alice, "Hello")

        assert "French" in json.dumps(model.calls[0].body)

    @pytest.mark.parametrize("tool", ["list_facts", "recall", "get_fact"])
    def test_a_tool_refuses_politely_when_it_is_paused_meanwhile(self, alice, model, monkeypatch, tool):
        remember(alice, "I like figs", key="fruit")
        arguments = {"recall": {"query": "fruit"}, "get_fact": {"key": "fruit"}}.get(tool, {})
        model.script(reply(calls(tool, **arguments)), reply("All right."))
        once_begun(monkeypatch, lambda: switch_memory(alice.id, use=False))

        turn = ask(alice, "What do I like?")

        (step,) = runs.steps(runs.run_of_turn(alice.id, turn.id))
        assert json.loads(step.observation)["error"] == "memory_paused"
        assert "paused by the user" in step.observation
        assert "figs" not in step.observation


@pytest.mark.django_db
class TestPrograms:
    SEARCH = ("/api/v1/memories/search", {"query": "figs", "include": ["facts"]}, "application/json")

    def test_a_program_may_not_search(self, api, alice):
        remember(alice, "I like figs")
        switch_memory(alice.id, use=False)

        response = api.post(*self.SEARCH)

        assert (response.status_code, response.json()["code"]) == (409, "memory_paused")

    def test_another_persons_program_may(self, bobs_api, alice):
        switch_memory(alice.id, use=False)

        assert bobs_api.post(*self.SEARCH).status_code == 200


@pytest.mark.django_db
class TestSave:
    def waiting(self, user) -> list[str]:
        return [
            message.text
            for conversation in user.conversations.order_by("created_at", "id")
            for message in sources.not_extracted(user.id, conversation.id, limit=10)
        ]

    def test_nothing_is_read_for_what_to_remember(self, alice):
        talk(alice, "I like figs.")
        switch_memory(alice.id, save=False)

        assert self.waiting(alice) == []
        assert (
            sources.conversations_waiting(
                active_since=datetime.min.replace(tzinfo=UTC),
                ended_before=datetime.max.replace(tzinfo=UTC),
                limit=10,
            )
            == []
        )

    def test_what_was_said_meanwhile_is_never_learned_later(self, alice, bob):
        switch_memory(alice.id, save=False)
        talk(alice, "I like figs.")
        talk(bob, "I like tea.")
        switch_memory(alice.id, save=True)
        talk(alice, "I like plums.")

        assert self.waiting(alice) == ["I like plums."]
        assert self.waiting(bob) == ["I like tea."]

    def test_no_run_teaches_anything(self, alice, monkeypatch):
        turn = talk(alice, "Plan the trip.")
        switch_memory(alice.id, save=False)
        turn = type(turn).objects.get(id=turn.id)
        monkeypatch.setattr(promotion.scratchpad, "run_of_turn", pytest.fail)

        assert promotion.promote_run(turn, now=NOW) is None


@COMMITTED
def test_the_chat_does_not_offer_to_remember_while_saving_is_paused(alice, model):
    switch_memory(alice.id, save=False)

    ask(alice, "I like figs.")

    assert "remember" not in {tool["name"] for tool in model.calls[0].body["tools"]}
    assert live(alice) == []


@COMMITTED
def test_remember_says_that_saving_is_paused_when_that_happens_meanwhile(alice, model, monkeypatch):
    call = calls("remember", statement="I like figs.", quote="I like figs.", kind="preference")
    model.script(reply(call), reply("Noted."))
    once_begun(monkeypatch, lambda: switch_memory(alice.id, save=False))

    turn = ask(alice, "I like figs.")

    (step,) = runs.steps(runs.run_of_turn(alice.id, turn.id))
    assert "Saving to memory is paused" in step.observation
    assert live(alice) == []


@pytest.mark.django_db
class TestVisits:
    def visit(self, user, *minutes):
        return [accounts.note_memory_visit(user.id, now=NOW + timedelta(minutes=at)) for at in minutes]

    def test_the_first_visit_has_seen_nothing(self, alice):
        assert self.visit(alice, 0, 29) == [None, None]

    def test_a_visit_ends_after_half_an_hour_without_a_look(self, alice):
        seen = self.visit(alice, 0, 20, 51, 60, 100)

        assert seen == [
            None,
            None,
            NOW + timedelta(minutes=20),
            NOW + timedelta(minutes=20),
            NOW + timedelta(minutes=60),
        ]

    def test_visits_are_each_persons_own(self, alice, bob):
        self.visit(alice, 0)

        assert self.visit(bob, 60) == [None]
