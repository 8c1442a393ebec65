"""The pages of the conversations: what was said, what it was rolled up into, what was learned."""

from datetime import UTC, datetime, timedelta

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext
from django.urls import reverse
from django.utils import timezone

from memoryapp.longterm.operations import Source
from memoryapp.transcript import conversations, queries, summaries
from memoryapp.transcript.models import Conversation, Summary
from memoryapp.transcript.summaries import NewSummary
from tests.inspector.reading import words_of
from tests.longterm.saying import remember_from
from tests.talking import say
from tests.world import everything_of, finished_turn

CONVERSATIONS = reverse("inspector:conversations")


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
    assert [(row.asked.text, row.reply.text) for row in context["turns"]] == [("I like figs.", "Noted.")]
    assert [(row.version, row.covers) for row in context["summaries"]] == [(1, "Message 1")]
    assert [row.statement for row in context["memories"]] == ["I like figs."]


def test_the_words_come_before_what_came_of_them(browser, alice, conversation):
    say(conversation, "I like figs.", "Noted.")

    html = browser.get(reverse("inspector:conversation", args=[conversation.id])).content.decode()

    parts = ("words", "summaries", "learned", "tokens", "context", "settings")
    places = [html.index(f' id="{part}"') for part in parts]
    assert places == sorted(places)


def test_another_persons_conversation_does_not_exist(client, alice, bob):
    world = everything_of(alice)
    client.force_login(bob)

    response = client.get(reverse("inspector:conversation", args=[world.conversation_id]))

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


def to(name: str, *ids) -> str:
    return reverse(f"inspector:{name}", args=ids)


def titles(browser, **filters) -> list[str]:
    return [row.title for row in browser.get(CONVERSATIONS, filters).context["conversations"]]


def test_a_search_finds_titles_and_words_and_shows_where(browser, alice, conversation):
    say(conversation, "I like figs and dates.", "Noted.")
    conversations.start_conversation(alice, now=timezone.now(), title="Dates of the year")
    conversations.start_conversation(alice, now=timezone.now(), title="Other")

    rows = browser.get(CONVERSATIONS, {"q": "dates"}).context["conversations"]

    found = {row.title: "".join(text for text, is_match in row.snippet if is_match) for row in rows}
    assert found == {"Figs": "dates", "Dates of the year": ""}


def test_filters_leave_out_the_rest(browser, alice, conversation):
    turn = say(conversation, "I like figs.", "Noted.")
    remember_from(alice, transcript_source(turn), "I like figs.")
    summarise(conversation)
    for title, change in (("Pinned", {"is_pinned": True}), ("Archived", {"is_archived": True})):
        made = conversations.start_conversation(alice, now=timezone.now(), title=title)
        conversations.change_conversation(alice.id, made.id, **change)
    conversations.start_conversation(alice, now=timezone.now(), title="Temporary", is_temporary=True)

    shown = {
        show: titles(browser, show=show)
        for show in ("pinned", "archived", "summarised", "learned", "temporary")
    }

    assert shown == {
        "pinned": ["Pinned"],
        "archived": ["Archived"],
        "summarised": ["Figs"],
        "learned": ["Figs"],
        "temporary": ["Temporary"],
    }
    assert sorted(titles(browser)) == ["Archived", "Figs", "Pinned"]


def test_days_leave_out_what_was_said_before_and_after(browser, alice):
    for day in (1, 2, 3):
        made = conversations.start_conversation(alice, now=timezone.now(), title=f"Day {day}")
        moment = datetime(2026, 3, day, 12, tzinfo=UTC)
        Conversation.objects.filter(id=made.id).update(updated_at=moment)

    assert titles(browser, since="2026-03-02", until="2026-03-02") == ["Day 2"]


def test_the_list_is_sorted_by_length_and_by_what_was_learned(browser, alice):
    long, learned = (conversations.start_conversation(alice, now=timezone.now(), title=t) for t in "ab")
    say(long, "One.", "1")
    say(long, "Two.", "2")
    turn = say(learned, "I like figs.", "Noted.")
    remember_from(alice, transcript_source(turn), "I like figs.")

    assert titles(browser, sort="longest") == ["a", "b"]
    assert titles(browser, sort="memories") == ["b", "a"]


@pytest.mark.parametrize("sort", ["", "longest", "memories"])
def test_pages_hold_each_conversation_once(browser, alice, sort):
    for number in range(60):
        conversations.start_conversation(alice, now=timezone.now(), title=f"{number}")

    first = browser.get(CONVERSATIONS, {"sort": sort})
    second = browser.get(CONVERSATIONS + first.context["next_url"])

    rows = [*first.context["conversations"], *second.context["conversations"]]
    assert len(rows) == len({row.id for row in rows}) == 60


def test_the_list_takes_as_many_queries_for_thirty_as_for_three(
    browser, alice, django_assert_max_num_queries, conversation
):
    say(conversation, "I like figs.", "Noted.")
    with CaptureQueriesContext(connection) as few:
        browser.get(CONVERSATIONS)
    for number in range(30):
        made = conversations.start_conversation(alice, now=timezone.now(), title=f"{number}")
        say(made, "I like figs.", "Noted.")

    with django_assert_max_num_queries(len(few)):
        response = browser.get(CONVERSATIONS)

    assert len(response.content) < 100_000


def test_a_conversation_takes_as_many_queries_for_many_turns_as_for_few(
    browser, alice, django_assert_max_num_queries, conversation
):
    for number in range(3):
        say(conversation, f"I like figs {number}.", "Noted.")
    page = to("conversation", conversation.id)
    with CaptureQueriesContext(connection) as few:
        browser.get(page)
    for number in range(17):
        say(conversation, f"I like dates {number}.", "Noted.")

    with django_assert_max_num_queries(len(few)):
        response = browser.get(page)

    assert len(response.content) < 100_000


def test_picked_conversations_are_deleted_and_brought_back(browser, alice, conversation):
    other = conversations.start_conversation(alice, now=timezone.now(), title="Other")

    browser.post(to("conversations_delete"), {"id": [str(conversation.id)]})
    (offer,) = browser.session["undo_offers"]
    without = titles(browser)
    browser.post(offer["url"], offer["fields"])

    assert without == [other.title]
    assert sorted(titles(browser)) == ["Figs", "Other"]


def test_more_than_twenty_are_deleted_only_after_the_word_was_typed(browser, alice):
    for number in range(21):
        conversations.start_conversation(alice, now=timezone.now(), title=f"Fig {number}")
    conversations.start_conversation(alice, now=timezone.now(), title="Other")
    form = {"all": "1", "query": "?q=fig"}

    asked = browser.post(to("conversations_delete"), form)
    form["shown"] = asked.context["shown"]
    wrong = browser.post(to("conversations_delete"), {**form, "typed": "yes"})
    outdated = browser.post(to("conversations_delete"), {**form, "shown": "0" * 64, "typed": "delete"})
    before = queries.count(alice.id)
    browser.post(to("conversations_delete"), {**form, "typed": " Delete "})

    assert (asked.status_code, wrong.status_code, outdated.status_code) == (200, 422, 422)
    assert "Delete 21 conversations?" in words_of(asked)
    assert "The list changed meanwhile" in words_of(outdated)
    assert (before, titles(browser)) == (22, ["Other"])


def test_bobs_ids_delete_nothing_of_alices(client, bob, alice, conversation):
    client.force_login(bob)

    client.post(to("conversations_delete"), {"id": [str(conversation.id)]})
    answers = [
        client.post(to("conversation_delete", conversation.id)),
        client.post(to("conversation_change", conversation.id), {"what": "temporary"}),
        client.post(to("conversation_change", conversation.id), {"what": "keep", "keep": "ever"}),
        client.post(to("conversation_change", conversation.id), {"what": "memory"}),
    ]

    assert [answer.status_code for answer in answers] == [404] * 4
    assert queries.get_conversation(alice.id, conversation.id).use_memory


def test_bob_cannot_bring_alices_deleted_conversations_back(client, bob, alice, conversation):
    conversations.delete_conversation(alice.id, conversation.id)
    moment = Conversation.objects.get(id=conversation.id).deleted_at
    client.force_login(bob)

    client.post(to("conversations_undo"), {"deleted_at": moment.isoformat()})

    assert queries.is_restorable(alice.id, conversation.id)


def test_turns_say_whether_they_are_in_the_summary_or_word_for_word(browser, conversation):
    say(conversation, "I like figs.", "Noted.")
    say(conversation, "And dates.", "Noted.")
    summarise(conversation)

    rows = browser.get(to("conversation", conversation.id)).context["turns"]

    assert [(row.seq, row.place, [marker.version for marker in row.markers]) for row in rows] == [
        (1, "summary", [1]),
        (2, "verbatim", []),
    ]


def test_switches_of_a_conversation_are_changed(browser, alice, conversation):
    browser.post(to("conversation_change", conversation.id), {"what": "memory", "use_memory": "1"})

    changed = queries.get_conversation(alice.id, conversation.id)
    assert (changed.use_memory, changed.save_memory) == (True, False)


def test_a_conversation_is_kept_until_a_day_or_for_ever(browser, alice, conversation):
    day = timezone.localdate() + timedelta(days=10)
    page = to("conversation_change", conversation.id)

    dated = browser.post(page, {"what": "keep", "keep": "date", "date": day.isoformat()}, follow=True)
    days = queries.get_conversation(alice.id, conversation.id).retention_days
    browser.post(page, {"what": "keep", "keep": "ever"})

    assert days == 11
    assert f"Kept until the end of {day:%-d %B %Y}." in words_of(dated)
    assert queries.get_conversation(alice.id, conversation.id).retention_days == 0


@pytest.mark.parametrize("day", ["", "2020-01-01", "soon"])
def test_a_day_that_is_over_or_none_is_refused(browser, alice, conversation, day):
    page = to("conversation_change", conversation.id)

    response = browser.post(page, {"what": "keep", "keep": "date", "date": day}, follow=True)

    assert "Choose a day from today on." in words_of(response)
    assert queries.get_conversation(alice.id, conversation.id).retention_days is None


def test_a_conversation_is_made_temporary_and_says_when_it_ends(browser, alice, conversation):
    page = browser.post(to("conversation_change", conversation.id), {"what": "temporary"}, follow=True)

    assert queries.get_conversation(alice.id, conversation.id).is_temporary
    assert "Temporary from now on: nothing more is learned, and it ends 24 hours after" in words_of(page)


def test_tokens_of_each_reply_are_drawn_and_listed(browser, alice, conversation):
    finished_turn(alice, conversation.id, text="I like figs.", reply="Noted.")

    tokens = browser.get(to("conversation", conversation.id)).context["tokens"]

    assert [(row.seq, row.input_tokens, row.output_tokens) for row in tokens.rows] == [(1, 10, 5)]
    assert (tokens.total.input_tokens, len(tokens.chart.shapes)) == (10, 1)


def test_all_that_was_learned_is_one_click_away(browser, alice, conversation):
    for number in range(12):
        turn = say(conversation, f"I like fig number {number}.", "Noted.")
        remember_from(alice, transcript_source(turn), f"I like fig number {number}.")

    context = browser.get(to("conversation", conversation.id)).context
    listed = browser.get(context["learned_url"])

    assert (len(context["memories"]), context["memory_count"]) == (10, 12)
    assert len(listed.context["memories"]) == 12
