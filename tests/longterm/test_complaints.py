"""What users of other assistants complain about in what is remembered of them, and what happens here instead.

Many are shown elsewhere. In ``tests/lifecycle/test_extraction.py``: a recalled memory is not learned again, a message
is read once however often its job runs, a fact that is added or forgotten while the model thinks, a provider that fails
and an answer in a code fence or without content, what happened yesterday. In ``test_remember.py``: the same fact twice
is one, names in other scripts stay apart. In ``test_reconciling.py``: love that turns to hate, a new name to be called
by, one thing said as a fact and as a preference, stretches of time that the caller knows. In
``tests/inspector/test_facts.py``: two tabs that correct one fact. In ``tests/inspector/test_proposals.py``: what waits
is counted, and shown with before, after and source. In ``tests/scratchpad/test_runs.py``: checkpoints grow with the
steps and no faster.
"""

import re
from datetime import UTC, datetime, timedelta
from math import exp
from uuid import uuid4

import pytest
from django.db import OperationalError, connection
from django.test import Client
from django.test.utils import CaptureQueriesContext
from django.urls import reverse
from django.utils import timezone

from memoryapp.accounts.models import User
from memoryapp.context import queries as contexts
from memoryapp.context import recall as recalls
from memoryapp.embeddings.registry import get_embedder
from memoryapp.errors import InvalidInputError
from memoryapp.lifecycle import embedding
from memoryapp.lifecycle.tasks import after_turn, extract_conversation
from memoryapp.longterm import operations as longterm
from memoryapp.longterm import queries
from memoryapp.longterm.feedback import give_feedback
from memoryapp.longterm.models import Memory
from memoryapp.policies.feedback import Verdict
from memoryapp.policies.reconciliation import Outcome, normalise
from memoryapp.policies.trust import Origin
from memoryapp.transcript.models import MessageKey, Turn
from tests.api.requests import assert_problem, send
from tests.longterm.saying import DAY, NOW, live, remember
from tests.modelserver import calls, reply
from tests.talking import say
from tests.turns import COMMITTED, ask, reply_to, start

pytestmark = pytest.mark.usefixtures("nudges")


@pytest.fixture
def browser(client, alice) -> Client:
    client.force_login(alice)
    return client


@pytest.fixture
def offline(configure):
    """The built-in responder, and a conversation that is read as soon as a turn of it has ended."""
    configure(ANTHROPIC_API_KEY="", ANTHROPIC_BASE_URL="", STRATA_EXTRACTION_DELAY_S="0")


def tell(client: Client, statement: str, **values: str) -> dict:
    response = send(client, "POST", "/memories", {"statement": statement, **values})
    assert response.status_code in {200, 201}, response.content
    return response.json()


def found(client: Client, query: str, **options: object) -> list[dict]:
    return send(client, "POST", "/memories/search", {"query": query, **options}).json()["items"]


def text_of(item: dict) -> str:
    return item["memory"]["statement"] if item["type"] == "fact" else item["message"]["text"]


def settle(turn: Turn) -> None:
    """Do what follows a turn in the background."""
    after_turn(str(turn.id))
    extract_conversation(str(turn.conversation_id))


# Repeats.


@COMMITTED
def test_no_path_keeps_in_other_words_what_is_known(alice, browser, model, configure):
    configure(STRATA_EXTRACTION_DELAY_S="0", STRATA_MODEL_EXTRACTION="false", STRATA_MODEL_TITLES="false")
    known = tell(browser, "I don't eat meat", kind="constraint")
    other = tell(browser, "I run on Sundays", kind="preference")
    said = "I do not eat meat."

    kept = calls("remember", statement="The user does not eat meat", quote=said, kind="preference")
    model.script(reply(kept), reply("Noted."))
    ask(alice, f"By the way: {said}")  # the chat's tool
    conversation = start(alice)
    say(conversation, said)
    extract_conversation(str(conversation.id))
    by_api = tell(browser, said, kind="preference")
    imported = remember(alice, said, origin=Origin.IMPORTED, channel=Memory.Channel.IMPORT)
    page = reverse("inspector:fact_edit", args=[other["id"]])
    by_page = browser.post(page, {"statement": said, "version": "1"})
    by_patch = send(browser, "PATCH", f"/memories/{other['id']}", {"statement": said}, If_Match='"1"')

    assert (by_api["outcome"], by_api["id"]) == ("reinforced", known["id"])
    assert (imported.outcome, str(imported.memory.id)) == (Outcome.REINFORCED, known["id"])
    assert by_page.status_code == 422
    assert_problem(by_patch, 422)
    assert live(alice) == ["I don't eat meat", "I run on Sundays"]
    assert Memory.objects.count() == 2
    assert queries.sources(queries.get_memory(alice.id, known["id"])).count() == 5


def test_what_was_learned_in_other_words_meanwhile_is_neither_confirmed_nor_brought_back(alice):
    waiting = remember(alice, "I do not eat meat", origin=Origin.UNTRUSTED).memory
    wrong = remember(alice, "I'm living in Porto", said_at=NOW - DAY).memory
    give_feedback(alice.id, wrong.id, Verdict.WRONG, now=NOW - DAY)
    remember(alice, "I don't eat meat")
    remember(alice, "I live in Porto")

    with pytest.raises(InvalidInputError, match="remembered already"):
        longterm.confirm(alice.id, waiting.id, version=1, now=NOW)
    with pytest.raises(InvalidInputError, match="Forget that one first"):
        give_feedback(alice.id, wrong.id, Verdict.CONFIRMED, now=NOW)

    assert live(alice) == ["I don't eat meat", "I live in Porto"]


TEAS = ["green", "black", "white", "mint", "ginger", "lemon", "iced", "sweet", "bitter", "cold"]
PLACES = ["at home", "at work", "in Porto", "on the train", "with Ben"]


def test_fifty_alike_facts_about_one_person_stay_fifty_in_their_own_words(browser, alice):
    facts = [f"My sister Anna drinks {tea} tea {place}" for tea in TEAS for place in PLACES]

    outcomes = {tell(browser, fact, kind="event")["outcome"] for fact in facts}

    assert outcomes == {"added"}
    assert live(alice) == sorted(facts)


@pytest.mark.usefixtures("offline")
def test_nothing_is_found_twice_in_the_same_words(browser, alice):
    for text in ("I drink coffee black.", "I DRINK coffee, black", "The coffee machine is broken."):
        say(start(alice), text, "I see: coffee.")
    tell(browser, "I drink coffee black", kind="event")
    tell(browser, "I drink coffee, black!", kind="preference")
    for conversation in alice.conversations.all():
        extract_conversation(str(conversation.id))

    for query in ("coffee", "Do I drink coffee black?"):
        words = [normalise(text_of(item)) for item in found(browser, query, limit=100)]
        assert words.count(normalise("I drink coffee black")) == 1
        assert len(words) == len(set(words))


# Nothing found is an answer.


@COMMITTED
@pytest.mark.usefixtures("offline")
def test_what_nobody_said_is_neither_found_nor_made_up(alice, browser):
    for text in ("I only drink green tea.", "I am allergic to peanuts.", "My sister lives in Porto."):
        settle(say(start(alice), text, "Noted."))

    answer = reply_to(ask(alice, "Do I like aubergines?"))

    assert found(browser, "Do I like aubergines?") == []
    assert "I know nothing about that" in answer
    assert not re.search("tea|peanuts|Porto", answer)


@COMMITTED
@pytest.mark.usefixtures("offline")
def test_an_answer_quotes_rows_of_its_person_and_nothing_else(alice, bob, browser):
    for person, drink in ((alice, "green tea"), (bob, "cold beer")):
        settle(say(start(person), f"I only drink {drink}.", "Noted."))

    asked = ask(alice, "What do I drink?")

    snapshot = contexts.newest_snapshot(alice.id, asked.id)
    given = [entry["memory_id"] for entry in snapshot.recalled if entry["included"]]
    rows = [queries.get_memory(alice.id, memory_id).statement for memory_id in given]
    quoted = re.findall(r'"(.+?)"', reply_to(asked))
    assert quoted == rows == ["I only drink green tea."]


# Time.


@COMMITTED
@pytest.mark.usefixtures("offline")
def test_one_correction_outweighs_what_was_said_five_times(alice):
    for opening in ("Hello!", "Listen:", "As I said,", "By the way,", "Well,"):
        settle(say(start(alice), f"{opening} I live in Lisbon.", "Noted."))

    settle(ask(alice, "I moved to Porto."))
    answer = reply_to(ask(alice, "Where do I live?"))

    assert live(alice) == ["I moved to Porto."]
    assert "Porto" in answer
    assert "Lisbon" not in answer


@COMMITTED
def test_two_stretches_at_one_employer_are_two_facts_each_of_its_time(alice, browser, model, configure):
    configure(STRATA_MODEL_EXTRACTION="false", STRATA_MODEL_TITLES="false")
    conversation = start(alice)
    for said in ("I worked at Acme from 2019 to 2020", "I worked at Acme from 2023 to 2024"):
        kept = calls("remember", statement=said, quote=said, kind="event", key="employer")
        model.script(reply(kept), reply("Noted."))
        ask(alice, f"{said}.", conversation)
    tell(browser, "I work at Globex", kind="event")

    items = send(browser, "GET", "/memories?sort=oldest").json()["items"]

    held = [(item["statement"], item["valid_from"][:10], (item["valid_to"] or "")[:10]) for item in items]
    assert held[:2] == [
        ("I worked at Acme from 2019 to 2020", "2019-01-01", "2021-01-01"),
        ("I worked at Acme from 2023 to 2024", "2023-01-01", "2025-01-01"),
    ]
    assert [(item["key"], item["status"]) for item in items] == [
        ("", "active"),
        ("", "active"),
        ("employer", "active"),
    ]


def test_from_the_moment_it_expires_it_is_read_by_nothing_and_reading_does_not_renew(browser, alice):
    memory = remember(alice, "The locker code word is marmalade", kind="ticket", key="locker").memory
    question = "What is the locker code word?"

    def answers() -> list[list]:
        recalled = recalls.recall(alice.id, question, now=timezone.now())
        page = browser.get(reverse("inspector:facts"), {"q": "marmalade"})
        listed = send(browser, "GET", "/memories").json()["items"]
        return [found(browser, question), listed, list(recalled.considered), page.context["memories"]]

    before = answers()
    Memory.objects.filter(id=memory.id).update(expires_at=timezone.now() - timedelta(seconds=1))
    stored = Memory.objects.values().get()

    assert [len(found) for found in before] == [1, 1, 1, 1]
    assert answers() == [[], [], [], []]
    assert Memory.objects.values().get() == stored


def test_a_lifetime_set_over_the_api_holds_for_what_is_known_and_for_what_comes(browser, alice):
    User.objects.filter(id=alice.id).update(is_staff=True)
    remember(alice, "The exam is over", said_at=NOW - 20 * DAY)
    remember(alice, "The party was loud", said_at=NOW - 5 * DAY)

    changed = send(browser, "PATCH", "/kinds/event", {"ttl_days": 7, "rationale": "For a week."})
    tell(browser, "The flat is sold", kind="event")

    assert changed.status_code == 200
    items = send(browser, "GET", "/memories?sort=expires").json()["items"]
    assert [item["statement"] for item in items] == ["The party was loud", "The flat is sold"]
    midnight = datetime.combine(NOW.date(), datetime.min.time(), tzinfo=UTC)
    ends = [datetime.fromisoformat(item["expires_at"]) for item in items]
    assert ends[0] == midnight + 3 * DAY
    assert ends[1] - ends[0] in {5 * DAY, 6 * DAY}  # the second when midnight came in between


# Writing, then reading.


def test_what_was_just_saved_is_read_at_once_by_its_new_words_alone(browser, alice):
    memory = remember(alice, "My bicycle is red", kind="event").memory
    embedding.embed_memory(memory.id)
    page = reverse("inspector:fact", args=[memory.id])
    browser.post(
        reverse("inspector:fact_edit", args=[memory.id]), {"statement": "I own a canoe", "version": "1"}
    )

    shown = browser.get(page).context["memory"].statement
    listed = [row.statement for row in browser.get(reverse("inspector:facts")).context["memories"]]

    assert shown == "I own a canoe"
    assert listed == ["I own a canoe"]
    assert [text_of(item) for item in found(browser, "Do I own a canoe?")] == ["I own a canoe"]
    assert found(browser, "Is my bicycle red?") == []


class OtherModel:
    """Vectors of the same length as the installation's own, that mean something else."""

    model_id = "other"

    def __init__(self, own):
        self.dimensions, self.calibration = own.dimensions, own.calibration
        self.sizes: list[int] = []

    def embed_passages(self, texts):
        self.sizes.append(len(texts))
        return [[1.0, *[0.0] * (self.dimensions - 1)] for _ in texts]

    embed_queries = embed_passages

    def aimed(self, vector, **_):
        return list(vector)


@pytest.fixture
def change_model(monkeypatch):
    def change() -> OtherModel:
        other = OtherModel(get_embedder())
        for module in ("memoryapp.context.recall", "memoryapp.lifecycle.embedding"):
            monkeypatch.setattr(f"{module}.get_embedder", lambda: other)
        return other

    return change


def cosines(user: User, question: str) -> dict[str, bool]:
    """Of each sort that was considered: whether it was compared by meaning."""
    items = recalls.search(user.id, question, now=timezone.now(), limit=50)
    return {item.text: item.arms["cosine"] is not None for item in items}


def test_of_another_model_with_vectors_as_long_nothing_is_compared_before_it_is_embedded_anew(
    alice, change_model
):
    said = say(start(alice), "The canoe is in the shed", "Noted.")
    embedding.embed_turn(said.id)
    embedding.embed_memory(remember(alice, "I own a canoe").memory.id)
    before = cosines(alice, "Where is my canoe?")
    change_model()

    embedding.embed_memory(remember(alice, "My canoe is green").memory.id)
    meanwhile = cosines(alice, "Where is my canoe?")
    for sort in embedding.SORTS.values():
        list(sort.embed())

    assert before["I own a canoe"] is before["The canoe is in the shed"] is True
    assert meanwhile["I own a canoe"] is meanwhile["The canoe is in the shed"] is False
    assert meanwhile["My canoe is green"] is True
    assert all(cosines(alice, "Where is my canoe?").values())
    assert {row.embedding_model for row in [*Memory.objects.all(), *MessageKey.objects.all()]} == {"other"}


def test_beside_many_people_with_the_same_facts_one_gets_all_ten_that_were_asked_for(browser, alice):
    drinks = [f"I drink {tea} tea {PLACES[0]}" for tea in TEAS]
    for drink in drinks:
        embedding.embed_memory(remember(alice, drink).memory.id)
    own = list(Memory.objects.all())
    others = User.objects.bulk_create(User(username=f"person{number}", email="") for number in range(49))
    Memory.objects.bulk_create(copied(memory, to=other) for other in others for memory in own * 2)

    items = found(browser, "Which tea do I drink at home?", limit=10)

    assert Memory.objects.count() == 990
    assert sorted(text_of(item) for item in items) == sorted(drinks)
    assert all(item["arms"]["cosine"] for item in items)


def confidence_of(arms: dict[str, float]) -> float:
    """What the scores alone say, on the scale of the model."""
    weights = get_embedder().calibration
    return 1 / (1 + exp(-(weights.bias + weights.dense * arms["cosine"] + weights.lexical * arms["overlap"])))


def copied(memory: Memory, *, to: User) -> Memory:
    names = [field.attname for field in Memory._meta.concrete_fields if not field.primary_key]
    values = {name: getattr(memory, name) for name in names if name not in {"user_id", "digest"}}
    return Memory(user_id=to.id, digest=uuid4().hex, **values)


@pytest.mark.parametrize(
    "facts",
    [[], ["I drive a grey Skoda.", "My son is called Ida.", "The exam is in May.", "I collect stamps."]],
    ids=["alone", "among others"],
)
def test_a_candidate_is_judged_by_what_it_is_and_not_by_what_stands_beside_it(browser, alice, facts):
    for fact in ["I drink green tea", *facts]:
        embedding.embed_memory(remember(alice, fact).memory.id)

    items = found(browser, "green tea")

    assert [text_of(item) for item in items] == ["I drink green tea"]
    assert items[0]["arms"]["overlap"] == pytest.approx(1)
    assert items[0]["confidence"] == pytest.approx(confidence_of(items[0]["arms"]))
    assert 0.9 <= items[0]["score"] / items[0]["confidence"] <= 1.1
    assert found(browser, "What is the capital of France?") == []


# When something is away, and when there is much.


@COMMITTED
def test_where_recall_times_out_the_reply_says_that_it_was_written_without_memory(
    alice, browser, model, monkeypatch
):
    def time_out(*_: object) -> None:
        raise OperationalError("canceling statement due to statement timeout")

    monkeypatch.setattr("memoryapp.context.recall.longterm.always_used", time_out)

    turn = ask(alice, "What do I drink?")

    page = browser.get(reverse("chat:conversation", args=[turn.conversation_id])).content.decode()
    assert turn.status == "completed"
    assert "Memory was unavailable: this reply was written without it." in page
    assert send(browser, "GET", f"/turns/{turn.id}/context").json()["is_memory_unavailable"] is True


def test_embedding_many_facts_anew_reads_and_holds_one_batch_at_a_time(alice, change_model):
    memory = remember(alice, "I own a canoe").memory
    Memory.objects.bulk_create(copied(memory, to=alice) for _ in range(199))
    model = change_model()

    with CaptureQueriesContext(connection) as captured:
        done = sum(embedding.SORTS["memories"].embed())

    assert done == 200
    assert max(model.sizes) == embedding.BATCH
    assert len(model.sizes) == -(-200 // embedding.BATCH)
    reads = [
        query["sql"]
        for query in captured
        if query["sql"].startswith("SELECT") and "statement" in query["sql"]
    ]
    assert len(reads) == len(model.sizes) + 1
    assert all(f"LIMIT {embedding.BATCH}" in read for read in reads)
