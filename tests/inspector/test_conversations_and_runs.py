"""The pages of the other two memories: what was said, what it was rolled up into, and what each run did."""

from datetime import timedelta

import pytest
from django.urls import reverse
from django.utils import timezone

from memoryapp.longterm.models import Kind
from memoryapp.longterm.operations import Source
from memoryapp.scratchpad.models import Run
from memoryapp.transcript import conversations, queries, summaries
from memoryapp.transcript.models import Summary
from memoryapp.transcript.summaries import NewSummary
from tests.longterm.saying import remember_from
from tests.talking import say
from tests.world import everything_of

CONVERSATIONS = reverse("inspector:conversations")
RUNS = reverse("inspector:runs")


@pytest.fixture
def browser(client, alice):
    client.force_login(alice)
    return client


@pytest.fixture
def conversation(alice):
    return conversations.start_conversation(alice, now=timezone.now(), title="Figs")


def test_conversations_are_listed_with_what_came_of_them(browser, alice, conversation):
    turn = say(conversation, "I like figs.", "Noted.")
    source = transcript_source(turn)
    remember_from(alice, source, "I like figs.")
    summarise(conversation)

    rows = browser.get(CONVERSATIONS).context["conversations"]

    assert [(row.title, row.turn_count, row.summary_count, row.memory_count) for row in rows] == [
        ("Figs", 1, 1, 1)
    ]


def test_a_conversation_shows_its_words_its_summary_and_what_was_learned(browser, alice, conversation):
    turn = say(conversation, "I like figs.", "Noted.")
    remember_from(alice, transcript_source(turn), "I like figs.")
    summarise(conversation)

    response = browser.get(reverse("inspector:conversation", args=[conversation.id]))

    context = response.context
    assert [(row.user_text, row.reply_text) for row in context["turns"]] == [("I like figs.", "Noted.")]
    assert [(row.version, row.first_seq, row.last_seq) for row in context["summaries"]] == [(1, 1, 1)]
    assert [row.statement for row in context["memories"]] == ["I like figs."]


def test_a_run_shows_its_steps_and_its_pad(browser, alice):
    world = everything_of(alice)

    listed = browser.get(RUNS).context["runs"]
    page = browser.get(reverse("inspector:run", args=[world.run_id]))

    assert world.run_id in {row.id for row in listed}
    run = Run.objects.get(id=world.run_id)
    assert page.context["run"].goal == run.goal
    assert len(page.context["run"].steps) == run.steps.count()


@pytest.mark.parametrize("name", ["conversation", "run"])
def test_another_persons_pages_do_not_exist(client, alice, bob, name):
    world = everything_of(alice)
    client.force_login(bob)

    response = client.get(reverse(f"inspector:{name}", args=[getattr(world, f"{name}_id")]))

    assert response.status_code == 404


def transcript_source(turn):
    """The turn's own message, as a place where something was said."""
    asked = queries.user_message(turn)
    return Source(asked.id, asked.text)


def summarise(conversation) -> None:
    new = NewSummary(
        last_turn_id=queries.turns(conversation.user_id, conversation.id).get(seq=1).id,
        last_seq=1,
        text="The user likes figs.",
        method=Summary.Method.EXTRACTIVE,
        trigger=Summary.Trigger.AFTER_TURN,
        tokens_before=100,
    )
    summaries.add_summary(conversation, new, replaces=None)


@pytest.mark.parametrize(
    ("seconds", "text"), [(0.23, "230 ms"), (14.84, "14.8 s"), (125, "2 min 5 s"), (59.99, "1 min 0 s")]
)
def test_a_run_says_how_long_it_took_in_units_to_read(browser, alice, seconds, text):
    run = Run.objects.get(id=everything_of(alice).run_id)
    Run.objects.filter(id=run.id).update(finished_at=run.started_at + timedelta(seconds=seconds))

    (row,) = browser.get(RUNS).context["runs"]

    assert row.duration_text == text


def test_a_run_shows_how_it_ended_and_leads_back_to_its_chat(browser, alice):
    world = everything_of(alice)

    shown = browser.get(reverse("inspector:run", args=[world.run_id])).content.decode()

    assert ">Completed<" in shown
    assert f"/c/{world.conversation_id}/#turn-{world.turn_id}" in shown


def test_pages_of_runs_do_without_the_kind_that_gives_them_a_lifetime(browser, alice):
    everything_of(alice)
    Kind.objects.filter(subject=Kind.Subject.RUN).delete()

    (row,) = browser.get(RUNS).context["runs"]

    assert row.expires_text == "Record kept"
