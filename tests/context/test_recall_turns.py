"""What was said in earlier conversations is recalled where it answers, and nothing is said to the model twice."""

import json
from datetime import UTC, datetime, timedelta

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext
from django.utils import timezone

from memoryapp.context import recall as recalls
from memoryapp.context.considered import Considered, PastMessage
from memoryapp.context.items import excerpt, prompt_item
from memoryapp.context.recall import Recall, prompt_items, search, trace
from memoryapp.context.tools import RecallArguments, run_recall
from memoryapp.embeddings.base import EmbedderUnavailable
from memoryapp.lifecycle import embedding
from memoryapp.longterm import operations as longterm
from memoryapp.longterm.operations import Source
from memoryapp.longterm.withdrawal import withdraw
from memoryapp.policies.trust import Origin
from memoryapp.transcript import conversations, queries, summaries
from memoryapp.transcript.models import Message, Summary, Turn
from memoryapp.transcript.queries import InPrompt
from memoryapp.transcript.summaries import NewSummary
from tests.context.saying import said, talk
from tests.longterm.saying import NOW, remember, remember_from
from tests.tool_contexts import tool_context
from tests.turns import post, start

BIKE = "We rode our bikes along the Danube from Passau to Vienna in June."
QUESTION = "Where did we ride our bikes along the Danube?"
SMALL_TALK = [
    "The weather is awful today.",
    "I had soup for lunch.",
    "My train was late again.",
    "Good film!",
]


def chat(user, *texts: str) -> None:
    for text in texts:
        talk(user, text)


def ride(user, **options) -> Turn:
    """Among other talk, the answer to the question; embedded, as some seconds after the turn."""
    chat(user, *SMALL_TALK)
    turn = talk(user, BIKE, **options)
    embedding.embed_backlog()
    return turn


def asked(user, question: str = QUESTION, **options) -> Recall:
    return recalls.recall(user.id, question, now=timezone.now(), **options)


def recalled(user, question: str = QUESTION, **options) -> list[str]:
    return [item.message.text for item in asked(user, question, **options).given("turn")]


def verdict(found: Recall, text: str) -> str:
    return next(item.reason for item in found.considered if item.text == text)


def test_what_was_said_in_another_conversation_is_recalled_by_its_words(alice):
    chat(alice, *SMALL_TALK, BIKE)

    assert recalled(alice) == [BIKE]


def test_by_its_meaning_once_it_is_embedded(alice):
    chat(alice, *SMALL_TALK, "My sister gave birth to twins on Sunday.")
    embedding.embed_backlog()

    assert recalled(alice, "When did my sister have her babies?")[:1] == [
        "My sister gave birth to twins on Sunday."
    ]


@pytest.mark.parametrize(
    "question", ["Thanks!", "ok", "What is the capital of France?", "Do I like aubergines?"]
)
def test_a_message_that_nothing_answers_recalls_nothing(alice, question):
    chat(alice, *SMALL_TALK, BIKE, "Thanks!", "Thank you!")
    embedding.embed_backlog()

    assert recalled(alice, question) == []


def test_the_prompt_says_who_said_it_and_when(alice):
    turn = ride(alice)
    Message.objects.filter(turn=turn).update(created_at=datetime(2026, 5, 8, 23, tzinfo=UTC))

    assert prompt_items(asked(alice)) == [{"user, 8 May 2026": BIKE}]


def test_a_named_speaker_is_named(alice):
    turn = ride(alice)
    Message.objects.filter(turn=turn).update(speaker="Caroline")

    [item] = prompt_items(asked(alice))

    assert next(iter(item)).startswith("Caroline, ")


def test_of_a_long_message_the_part_around_the_answer_is_given(alice):
    text = "The weather was fine. " * 100 + BIKE + " And we ate well." * 100
    turn = talk(alice, text)
    message = queries.past_messages(alice.id, [said(turn).id])[said(turn).id]

    item = prompt_item(
        Considered(
            message, {}, 1.0, 1.0, included=True, reason="", excerpt=excerpt(text, "biking by the Danube?")
        )
    )

    [part] = map(str, item.values())
    assert BIKE in part
    assert len(part) < 700
    assert (part[0], part[-1]) == ("…", "…")
    assert excerpt(BIKE, QUESTION) == ""


def test_the_taint_is_that_of_the_turn_it_belongs_to(alice):
    ride(alice, taint=Origin.UNTRUSTED)

    found = asked(alice)

    assert found.taint == Origin.UNTRUSTED
    assert prompt_items(found)[0]["origin"] == "untrusted"


def test_what_stands_in_the_prompt_already_is_not_recalled_into_it(alice):
    conversation = start(alice)
    turn = ride(alice, conversation=conversation)
    for text in SMALL_TALK:
        talk(alice, text, conversation=conversation)

    assert recalled(alice, in_prompt=queries.in_prompt(alice.id, conversation.id)) == []

    summarise(conversation, turn)

    assert recalled(alice, in_prompt=queries.in_prompt(alice.id, conversation.id)) == [BIKE]


def summarise(conversation, turn):
    summaries.add_summary(
        conversation,
        NewSummary(
            last_turn_id=turn.id,
            last_seq=turn.seq,
            text="They went on a holiday.",
            method=Summary.Method.MODEL,
            trigger=Summary.Trigger.AFTER_TURN,
            model="offline",
            tokens_before=100,
        ),
        replaces=None,
    )


def test_a_message_that_is_not_answered_yet_is_not_recalled(alice):
    post(alice, BIKE)

    assert recalled(alice) == []


def test_bob_is_never_given_what_alice_said(alice, bob):
    chat(alice, BIKE)
    chat(bob, *SMALL_TALK)

    assert recalled(bob) == []


def test_a_temporary_chat_is_not_recalled_elsewhere(alice):
    talk(alice, BIKE, conversation=start(alice, is_temporary=True))

    assert asked(alice).considered == []


def test_a_deleted_conversation_is_not_recalled(alice):
    turn = ride(alice)

    conversations.delete_conversation(alice.id, turn.conversation_id)

    assert BIKE not in [item.text for item in asked(alice).considered]


def test_the_same_question_asked_before_is_no_answer(alice):
    chat(alice, *SMALL_TALK, QUESTION)

    found = asked(alice)

    assert found.included == []
    assert verdict(found, QUESTION) == "only a question"


def test_words_said_twice_are_given_once(alice):
    ride(alice)
    talk(alice, BIKE.upper())
    embedding.embed_backlog()

    found = asked(alice)

    assert len(found.given("turn")) == 1
    assert [item.reason for item in found.considered].count("the same words are in already") == 1


def test_a_message_is_left_out_beside_the_fact_that_was_taken_from_it(alice):
    turn = ride(alice)
    fact = "We rode from Passau to Vienna on our bikes, by the Danube"
    remember_from(alice, Source(said(turn).id, BIKE), fact)
    embedding.embed_backlog()

    found = asked(alice)

    assert [item.sort for item in found.included] == ["fact"]
    assert verdict(found, BIKE) == "a fact from it is in already"


def test_a_message_is_left_out_beside_a_fact_of_the_same_words(alice):
    ride(alice)
    remember(alice, BIKE)

    found = asked(alice)

    assert [item.sort for item in found.included] == ["fact"]


def test_a_message_whose_facts_were_replaced_is_left_out(alice):
    chat(alice, *SMALL_TALK)
    turn = talk(alice, "My bike is a red Brompton.")
    source = Source(said(turn).id, "My bike is a red Brompton.")
    remember_from(alice, source, "My bike is a red Brompton.", key="bike", said_at=NOW - timedelta(days=9))
    remember(alice, "My bike is a blue Trek.", key="bike")

    found = asked(alice, "Which bike is mine, the red Brompton?")

    assert "My bike is a red Brompton." not in [item.text for item in found.included]
    assert verdict(found, "My bike is a red Brompton.") == "what it says was replaced"


SPARE_KEY = "The spare key is under the blue flower pot behind the garage, and Karl has another one."


def test_a_message_stays_for_what_no_fact_says(alice):
    text = f"I live in Porto. {SPARE_KEY}"
    source = Source(said(talk(alice, text)).id, text)
    remember_from(alice, source, "I live in Porto", quote="I live in Porto", kind="identity")

    found = asked(alice, "Where is the spare key?")

    assert f"I live in Porto. {SPARE_KEY}" in [item.text for item in found.given("turn")]


def test_what_was_replaced_is_cut_out_of_a_message(alice):
    text = f"I live in Porto. {SPARE_KEY}"
    source = Source(said(talk(alice, text)).id, text)
    remember_from(alice, source, "I live in Porto", quote="I live in Porto", kind="identity", key="city")
    remember(alice, "I live in Lisbon", kind="identity", key="city", said_at=timezone.now())

    found = asked(alice, "Where is the spare key?")

    [item] = found.given("turn")
    assert list(prompt_item(item).values()) == [f"… {SPARE_KEY}"]


@pytest.mark.parametrize("before", ["Who has the spare key?", "Is the spare key where it was?"])
def test_a_question_asked_before_is_no_answer_to_another_one(alice, before):
    chat(alice, *SMALL_TALK, before, SPARE_KEY)

    found = asked(alice, "Where is the spare key?")

    assert [item.text for item in found.given("turn")] == [SPARE_KEY]
    assert verdict(found, before) == "only a question"


def test_what_was_asked_is_found_by_who_asks_for_it(alice):
    chat(alice, "Who has the spare key?")

    found = asked(alice, "What did I ask about the spare key?")

    assert [item.text for item in found.given("turn")] == ["Who has the spare key?"]


def test_one_word_finds_messages_in_a_search(alice):
    chat(alice, *SMALL_TALK, SPARE_KEY)

    assert SPARE_KEY in [item.text for item in search(alice.id, "garage", now=NOW, limit=5)]


def test_messages_share_the_token_budget_with_facts(alice):
    chat(alice, *SMALL_TALK, BIKE)

    found = asked(alice, max_tokens=20)

    assert found.included == []
    assert verdict(found, BIKE) == "over budget"


def test_the_trace_names_a_message_by_its_id_with_numbers_and_no_text(alice):
    turn = ride(alice)

    entries = [entry for entry in trace(asked(alice)) if entry["included"]]

    assert [entry["message_id"] for entry in entries] == [str(said(turn).id)]
    assert set(entries[0]) == {"message_id", "arms", "confidence", "score", "included", "reason"}
    assert "Danube" not in json.dumps(entries)


def test_all_sorts_stand_in_one_list_best_first(alice):
    chat(alice, *SMALL_TALK, BIKE)
    remember(alice, "I like the Danube", kind="preference")

    scores = [item.score for item in asked(alice).considered]

    assert len(scores) > 5
    assert scores == sorted(scores, reverse=True)


def test_without_an_embedder_the_words_decide(alice, embedder, monkeypatch, caplog):
    chat(alice, *SMALL_TALK, BIKE)
    embedding.embed_backlog()

    def fail(_self, _texts):
        raise EmbedderUnavailable("away")

    monkeypatch.setattr(type(embedder), "embed_queries", fail)

    assert recalled(alice) == [BIKE]
    assert "by words only" in caplog.text


def test_the_number_of_statements_does_not_grow_with_what_was_said(alice):
    counts = []
    for batch in range(3):
        chat(alice, *(f"Tour {batch}{number}: our bikes, the Danube." for number in range(5)))
        with CaptureQueriesContext(connection) as captured:
            prompt_items(asked(alice))
        counts.append(len(captured))

    assert counts == [counts[0]] * 3


def found(user, question: str = QUESTION, **options) -> list[str]:
    items = search(user.id, question, now=timezone.now(), **{"limit": 50, **options})
    return [item.text for item in items]


def test_a_search_ranks_whatever_was_said_and_judges_it(alice):
    chat(alice, *SMALL_TALK, BIKE)

    items = search(alice.id, QUESTION, now=timezone.now(), limit=50, include=["turns"])

    assert items[0].text == BIKE
    assert len(items) == 10  # five messages, five replies
    assert [item.included for item in items].count(True) == 1
    assert all(isinstance(item.what, PastMessage) for item in items)


def test_a_search_gives_at_most_what_was_asked_for_of_the_arms_that_were_named(alice):
    chat(alice, *SMALL_TALK, BIKE)
    remember(alice, "I like the Danube", kind="preference")

    assert len(found(alice, limit=3)) == 3
    assert found(alice, include=["facts"]) == ["I like the Danube"]
    assert "I like the Danube" not in found(alice, include=["turns"])


def test_a_search_as_of_a_moment_knows_nothing_of_what_was_said_later(alice):
    turn = talk(alice, BIKE)
    spoken_at = said(turn).created_at

    assert BIKE in found(alice, as_of=spoken_at + timedelta(seconds=1))
    assert found(alice, as_of=spoken_at - timedelta(seconds=1)) == []


def test_the_tool_finds_messages_but_not_those_in_front_of_the_model(alice):
    conversation = start(alice)
    ride(alice, conversation=conversation, taint=Origin.TOOL)
    arguments = RecallArguments(query=QUESTION)

    here = run_recall(arguments, tool_context(alice.id, conversation_id=conversation.id))
    elsewhere = run_recall(arguments, tool_context(alice.id))

    assert here.content == '{"memories": []}'
    assert BIKE in elsewhere.content
    assert elsewhere.origin == Origin.TOOL


def test_what_is_forgotten_is_not_found_by_the_message_it_was_said_in(alice):
    turn = ride(alice)
    memory = remember_from(alice, Source(said(turn).id, BIKE), BIKE).memory

    longterm.forget(alice.id, memory.id, now=NOW)

    assert recalled(alice) == []


def test_what_is_taken_back_is_not_found_by_the_message_it_was_said_in(alice):
    turn = talk(alice, BIKE, "You rode along the Danube, I keep that.")
    memory = remember_from(alice, Source(said(turn).id, BIKE), "I rode along the Danube").memory

    withdraw(alice.id, memory.id, source_message_id=said(turn).id, now=NOW)

    assert asked(alice).considered == []


def test_nor_when_another_message_says_it_too(alice):
    first, second = talk(alice, BIKE), talk(alice, "Our bikes along the Danube, yes!")
    memory = remember_from(alice, Source(said(first).id, BIKE), "I rode along the Danube").memory
    remember_from(alice, Source(said(second).id, said(second).text), "I rode along the Danube")

    for turn in (second, first):
        withdraw(alice.id, memory.id, source_message_id=said(turn).id, now=NOW)

    assert asked(alice).considered == []


def test_what_is_said_again_after_that_is_found(alice):
    turn = talk(alice, BIKE)
    memory = remember_from(alice, Source(said(turn).id, BIKE), "I rode along the Danube").memory
    withdraw(alice.id, memory.id, source_message_id=said(turn).id, now=NOW)

    talk(alice, f"As I said: {BIKE}")

    assert recalled(alice) == [f"As I said: {BIKE}"]


def test_an_order_to_forget_is_not_recalled_nor_the_answer_to_it(alice):
    talk(
        alice, "Forget that we rode our bikes along the Danube.", "Your bikes along the Danube are forgotten."
    )

    assert asked(alice).considered == []


def test_nothing_to_find_costs_no_embedding(alice, embedder, monkeypatch):
    monkeypatch.setattr(type(embedder), "embed_queries", lambda *_: pytest.fail("embedded"))
    conversation = start(alice)
    talk(alice, BIKE, conversation=conversation)

    assert asked(alice, in_prompt=InPrompt(conversation.id, after_seq=0)).considered == []
