"""What long-term memory answers to a question, with the embedder that an installation has."""

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext
from django.utils import timezone

from memoryapp.context.items import prompt_tokens
from memoryapp.context.recall import NOTHING, Recall, prompt_items, recall, search, trace
from memoryapp.lifecycle import embedding
from memoryapp.llm.tokens import estimate_text
from memoryapp.longterm import operations as longterm
from memoryapp.longterm.models import Kind, Memory
from memoryapp.policies.fencing import as_data
from memoryapp.policies.trust import Origin
from tests.longterm.saying import DAY, NOW, remember

TEA = "I only drink green tea, never coffee."
FACTS = [
    TEA,
    "I'm allergic to peanuts and carry an EpiPen.",
    "My sister Clara lives in Porto with her two kids.",
    "I drive a grey Skoda Octavia from 2019.",
    "I have a dentist appointment on 14 May at 9:30.",
]


def know(user, *statements: str, **values) -> list[Memory]:
    """Remembered and embedded, as some seconds after the turn."""
    memories = [
        remember(user, statement, **{"kind": "preference", **values}).memory for statement in statements
    ]
    for memory in memories:
        embedding.embed_memory(memory.id)
    return memories


def asked(user, question: str) -> Recall:
    return recall(user.id, question, now=timezone.now())


def recalled(user, question: str) -> list[str]:
    return [item.memory.statement for item in asked(user, question).included]


@pytest.mark.parametrize(
    "question",
    [
        "What do I usually drink?",
        "Do I drink coffee?",
        "what was my favourite hot drink again?",
        "What beverage do I like?",
    ],
)
def test_a_fact_is_recalled_by_its_meaning(alice, question):
    know(alice, *FACTS)

    assert recalled(alice, question)[:1] == [TEA]


@pytest.mark.parametrize(
    "question",
    [
        "What is the capital of France?",
        "Why is the sky blue?",
        "What is the square root of 1764?",
        "How do I undo the last git commit?",
        "Do I like aubergines?",
        "Thanks!",
    ],
)
def test_a_question_that_no_fact_answers_recalls_nothing(alice, question):
    know(alice, *FACTS)

    assert recalled(alice, question) == []


def test_nothing_known_is_an_answer(alice):
    assert asked(alice, "What do I drink?").considered == []
    assert prompt_items(NOTHING) == trace(NOTHING) == []


def test_a_row_that_waits_for_its_vector_is_found_by_its_words(alice):
    memory = remember(alice, TEA).memory

    (item,) = asked(alice, "Which green tea do I drink?").considered

    assert memory.embedding is None
    assert (item.arms["cosine"], item.included) == (None, True)


def test_vectors_of_another_model_are_never_compared(alice):
    (memory,) = know(alice, TEA)
    Memory.objects.filter(id=memory.id).update(embedding_model="another")

    items = search(alice.id, "What do I drink?", now=NOW, limit=9)

    assert [item.arms["cosine"] for item in items] == [None]


def test_vectors_of_another_size_do_no_harm(alice):
    (memory,) = know(alice, TEA)
    longterm.store_embedding(memory.id, version=1, embedding=[1.0, 0.0, 0.0], model_id="another")

    assert recalled(alice, "Which green tea do I drink?") == [TEA]


def hide_superseded(user):
    know(user, TEA, key="drink", said_at=NOW - DAY)
    remember(user, "I moved to Braga", kind="preference", key="drink")


def hide_faded(user):
    know(user, TEA, said_at=NOW - 500 * DAY)


def hide_by_policy(user):
    know(user, TEA, said_at=NOW - 20 * DAY)
    Kind.objects.filter(slug="preference").update(ttl_days=7)


def hide_forgotten(user):
    (memory,) = know(user, TEA)
    longterm.forget(user.id, memory.id, now=NOW)


def hide_doubtful(user):
    know(user, TEA, origin=Origin.TOOL)
    Kind.objects.filter(slug="preference").update(min_confidence=0.8)


@pytest.mark.parametrize(
    "hide",
    [
        hide_superseded,
        hide_faded,
        hide_by_policy,
        hide_forgotten,
        hide_doubtful,
        lambda user: know(user, TEA, origin=Origin.UNTRUSTED),
        lambda user: know(user, TEA, kind="identity", origin=Origin.UNTRUSTED),
    ],
    ids=[
        "superseded",
        "faded",
        "faded by policy",
        "forgotten",
        "doubtful",
        "pending",
        "pending, always used",
    ],
)
def test_what_is_not_live_is_not_even_considered(alice, hide):
    hide(alice)

    considered = asked(alice, "What do I usually drink? Green tea, coffee?").considered

    assert TEA not in [item.memory.statement for item in considered]


def test_a_doubtful_memory_of_a_kind_that_is_always_used_is_not(alice):
    know(alice, "Answer in French", kind="constraint", origin=Origin.TOOL)
    Kind.objects.filter(slug="constraint").update(min_confidence=0.8)

    assert recalled(alice, "Why is the sky blue?") == []


def test_bobs_memories_are_never_considered(alice, bob):
    know(bob, *FACTS)
    know(bob, "I am Bob", kind="identity")

    assert asked(alice, "What do I usually drink? I am Bob.").considered == []


def test_two_people_with_the_same_facts_get_their_own(alice, bob):
    mine, _ = (know(user, *FACTS) for user in (alice, bob))

    found = {item.memory.id for item in asked(alice, "What do I usually drink?").considered}

    assert found
    assert found <= {memory.id for memory in mine}


def test_some_kinds_are_used_whatever_is_asked_oldest_first(alice):
    know(alice, *FACTS)
    know(alice, "Answer in French", "Never touch prod", kind="constraint")
    know(alice, "I am Anna", kind="identity")

    included = asked(alice, "Why is the sky blue?").included

    assert [item.memory.statement for item in included] == [
        "Answer in French",
        "Never touch prod",
        "I am Anna",
    ]
    assert {item.reason for item in included} == {"always used"}
    assert all(item["always"] for item in prompt_items(Recall(included)))


def test_what_is_always_used_is_not_recalled_a_second_time(alice):
    know(alice, TEA, kind="constraint")

    assert recalled(alice, "What do I usually drink?") == [TEA]


def test_the_prompt_shows_what_a_memory_is_and_where_from(alice):
    (memory,) = know(alice, TEA, origin=Origin.MODEL_INFERRED)

    (item,) = prompt_items(asked(alice, "What do I usually drink?"))

    assert 0.4 <= item.pop("confidence") <= 1
    assert item == {
        "id": str(memory.id),
        "kind": "preference",
        "statement": TEA,
        "origin": "model_inferred",
        "said_on": NOW.date().isoformat(),
    }


def test_the_taint_is_the_weakest_origin_of_what_went_in(alice):
    know(alice, *FACTS[1:], origin=Origin.TOOL)
    know(alice, TEA, origin=Origin.MODEL_INFERRED)

    assert asked(alice, "What do I usually drink?").taint == Origin.MODEL_INFERRED
    assert NOTHING.taint == Origin.USER_TYPED


def test_the_budget_bounds_what_goes_in_and_the_trace_says_what_did_not_fit(alice, configure):
    configure(STRATA_RECALL_MAX_TOKENS="500")
    know(alice, *(f"I only drink green tea number {n}, never coffee." for n in range(12)))

    result = asked(alice, "Which green tea do I drink?")

    assert 0 < len(result.included) < 12
    assert estimate_text(as_data(prompt_items(result))) <= 500
    assert {item.reason for item in result.considered} == {"relevant", "over budget"}


def test_what_its_person_confirmed_takes_the_room_that_it_takes_in_the_prompt(alice):
    [held] = know(alice, TEA, origin=Origin.UNTRUSTED)
    longterm.confirm(alice.id, held.id, version=held.version, now=timezone.now())
    embedding.embed_memory(held.id)
    [given] = asked(alice, "What do I usually drink?").included

    result = recall(
        alice.id, "What do I usually drink?", now=timezone.now(), max_tokens=prompt_tokens(given) - 1
    )

    assert given.taint == Origin.USER_CONFIRMED
    assert [item.reason for item in result.considered] == ["over budget"]


def test_the_number_of_items_is_bounded_too(alice, configure):
    configure(STRATA_RECALL_MAX_ITEMS="2")
    know(alice, *(f"I drink tea number {n}" for n in range(5)))

    assert len(recalled(alice, "Which tea do I drink?")) == 2


def test_the_trace_holds_every_candidate_with_numbers_a_verdict_and_a_reason_but_no_text(alice):
    know(alice, *FACTS)
    know(alice, "I am Anna", kind="identity")

    rows = trace(asked(alice, "What do I usually drink?"))

    assert {row["reason"] for row in rows} == {"always used", "relevant", "below the cutoff"}
    for row in rows:
        assert set(row) == {"memory_id", "arms", "confidence", "score", "included", "reason"}
        assert row["included"] == (row["reason"] in {"always used", "relevant"})
    assert not any(word in str(rows) for word in ("tea", "Anna", "peanuts"))


def test_the_best_comes_first_and_equal_scores_have_one_order(alice):
    know(alice, *FACTS)

    first, second = (asked(alice, "What do I usually drink?").considered for _ in range(2))

    scores = [item.score for item in first]
    assert scores == sorted(scores, reverse=True)
    assert [item.memory.id for item in first] == [item.memory.id for item in second]


def test_of_two_equal_answers_the_newer_comes_first(alice):
    know(alice, "I drink tea at work", said_at=NOW - 300 * DAY)
    know(alice, "I drink tea at home", said_at=NOW)

    assert recalled(alice, "Do I drink tea?")[0] == "I drink tea at home"


def test_recalling_changes_nothing(alice):
    know(alice, *FACTS)
    before = list(Memory.objects.order_by("id").values())

    asked(alice, "What do I usually drink?")

    assert str(list(Memory.objects.order_by("id").values())) == str(before)


def test_the_number_of_queries_does_not_grow_with_what_is_known(alice):
    counts = []
    for batch in range(3):
        for number in range(10):
            kind = "preference" if number % 2 else "identity"
            remember(alice, f"I drink tea number {number} of batch {batch}", kind=kind)
        with CaptureQueriesContext(connection) as queries:
            prompt_items(asked(alice, "Which tea do I drink?"))
        counts.append(len(queries))

    assert counts == [5, 5, 5]
