"""What is being forgotten is in no answer of any room, comes back to all of them, and is in no table once gone."""

import io
import json
import zipfile
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import timedelta
from uuid import UUID

import pytest
from asgiref.sync import async_to_sync
from django.apps import apps
from django.test import Client
from django.utils import timezone

from chat.memory_presentation import learned_from
from memoryapp.accounts.models import User
from memoryapp.activity import operations as activity
from memoryapp.context import recall, uses
from memoryapp.lifecycle import embedding
from memoryapp.longterm import experience_queries, experiences, forgettings, queries, search
from memoryapp.longterm import operations as longterm
from memoryapp.longterm.experiences import Lesson
from memoryapp.longterm.models import Memory
from memoryapp.longterm.operations import ForgottenError
from memoryapp.longterm.tools import GET_FACT, LIST_FACTS
from memoryapp.policies.trust import Origin
from memoryapp.transcript import queries as transcript
from memoryapp.transcript.models import Turn
from tests.addresses import addresses
from tests.api.requests import BASE
from tests.longterm.saying import candidate
from tests.snapshots import snapshot
from tests.tool_contexts import tool_context
from tests.world import finished_turn

WORD = "quincewort"
UNSAID = "xyzzyplugh"
SAID = "My favourite herb is a rare one"
STREAMS = ("/stream", "/events")


@dataclass(frozen=True, slots=True)
class Known:
    """Alice's fact, which holds the word, the former value with it, and where they were said."""

    user: User
    turn: Turn
    memory: Memory
    former: Memory
    experience_id: UUID

    @property
    def conversation_id(self) -> UUID:
        return self.turn.conversation_id

    @property
    def message_id(self) -> UUID:
        return transcript.user_message(self.turn).id


@pytest.fixture
def known(alice) -> Known:
    from memoryapp.transcript import conversations

    conversation = conversations.start_conversation(alice, now=timezone.now())
    turn = finished_turn(alice, conversation.id, text=SAID, reply="Good.")
    message = transcript.user_message(turn)
    source = longterm.Source(message.id, message.text)

    def say(statement: str, *, days_ago: int) -> Memory:
        moment = timezone.now() - timedelta(days=days_ago)
        said = candidate(
            statement,
            kind="identity",
            key="herb",
            said_at=moment,
            source=source,
            quote=SAID,
            channel="chat",
            run_id=scratchpad_run(turn),
        )
        return longterm.remember(alice.id, said).memory

    former = say(f"My favourite herb was wild {WORD}", days_ago=3)
    memory = say(f"My favourite herb is {WORD}", days_ago=2)
    Memory.objects.filter(id=memory.id).update(expires_at=timezone.now() + timedelta(days=3))
    lesson = Lesson(
        goal="Cook supper",
        tools=(),
        worked=f"My favourite herb is {WORD}",
        avoid="",
        origin=Origin.MODEL_INFERRED,
    )
    lesson_turn = finished_turn(alice, conversation.id, text="Cook supper", reply="Done.")
    learned = experiences.record(
        alice.id, lesson, run_id=scratchpad_run(lesson_turn), epoch_at_start=0, now=timezone.now()
    )
    assert learned
    traced = {"arms": {}, "confidence": 1.0, "score": 1.0, "included": True, "reason": "relevant"}
    snapshot(turn, {"memory_id": str(memory.id), **traced})
    uses.note_looked_up(turn, [memory.id, learned.id])
    activity.note_readings(alice.id, [memory.id], now=timezone.now())
    return Known(alice, turn, memory, former, learned.id)


def scratchpad_run(turn: Turn) -> UUID:
    from memoryapp.scratchpad import queries as runs

    return runs.run_ids_of_turns(turn.user_id, [turn.id])[turn.id]


def statements(rows) -> str:
    return " ".join(row.statement for row in rows)


READS: Mapping[str, Callable[[Known], object]] = {
    **{
        f"list of {status}": lambda it, status=status: statements(queries.memories(it.user.id, status=status))
        for status in ("active", "superseded", "any")
    },
    "list as of": lambda it: statements(queries.memories(it.user.id, known_at=timezone.now())),
    "list by kind": lambda it: queries.counts_by_kind(it.user.id, queries.memories(it.user.id)),
    "list by text": lambda it: statements(queries.memories(it.user.id, text=WORD)),
    "ids of a list": lambda it: queries.ids_of(queries.memories(it.user.id)),
    "by id": lambda it: statements(queries.by_ids(it.user.id, [it.memory.id, it.former.id]).values()),
    "of a conversation": lambda it: statements(queries.from_conversation(it.user.id, it.conversation_id)),
    "of a run": lambda it: statements(queries.from_run(it.user.id, it.memory.source_run_id)),
    "of a message": lambda it: [
        row.memory.statement for row in queries.taken_from(it.user.id, [it.message_id])
    ],
    "said by messages": lambda it: queries.taken_from_messages(it.user.id, [it.message_id]),
    "chips": lambda it: [
        chip for chip in learned_from(it.turn.conversation, [it.turn]).get(it.turn.id, []) if chip.memory_id
    ],
    "former values": lambda it: statements(queries.superseded_by(it.memory)),
    "always used": lambda it: statements(queries.always_used(it.user.id)),
    "expiring": lambda it: statements(queries.expiring_soon(it.user.id, now=timezone.now(), days=7)),
    "as of": lambda it: statements(queries.as_of(it.user.id, timezone.now())),
    "facts to rank": lambda it: search.facts(it.user.id, embedding=None, model_id="").ids,
    "facts of then": lambda it: (
        search.facts(it.user.id, embedding=None, model_id="", as_of=timezone.now()).ids
    ),
    "prompt": lambda it: recall.prompt_items(
        recall.recall(it.user.id, f"Which {WORD} herb is my favourite?", now=timezone.now())
    ),
    "search": lambda it: [
        str(item)
        for item in recall.search(it.user.id, f"{WORD} herb", now=timezone.now(), limit=20)
        if item.sort != "turn"
    ],
    "lessons": lambda it: [row.worked for row in experience_queries.unfaded(it.user.id)],
    "lessons to rank": lambda it: experience_queries.live(it.user.id, embedding=None, model_id=""),
    "lessons by id": lambda it: experience_queries.by_ids(it.user.id, [it.experience_id]),
    "look-up": lambda it: json.loads(tool(it, GET_FACT, key="herb"))["memories"],
    "listing": lambda it: json.loads(tool(it, LIST_FACTS))["memories"],
    "holdings": lambda it: [has for has in (queries.holdings(it.user.id).memories,) if has],
    "quota": lambda it: range(queries.quota(it.user.id).used),
    "count": lambda it: range(queries.count(it.user.id)),
    "vectors to make": lambda it: range(sum(sort.count() for sort in embedding.SORTS.values()) - 4),
}


def tool(it: Known, which, **arguments) -> str:
    context = tool_context(it.user.id, now=timezone.now())
    return which.run(which.checked(arguments), context).content


def pages(it: Known) -> set[str]:
    """Every address that shows the word to its person."""
    browser = Client(raise_request_exception=False)  # that none fails is another test's matter
    browser.force_login(it.user)
    ids = {
        "memory_id": it.memory.id,
        "experience_id": it.experience_id,
        "conversation_id": it.conversation_id,
        "turn_id": it.turn.id,
        "message_id": it.message_id,
    }
    of_the_former = {**ids, "memory_id": it.former.id}
    every = {*addresses(ids), *addresses(of_the_former)} - {"/accounts/logout/"}
    every |= {f"/memory/facts/?status={status}" for status in ("all", "superseded")}
    every |= {f"{BASE}/memories?status=any", f"{BASE}/memories?q={WORD}", f"/memory/facts/?q={WORD}"}
    walked = [
        address for address in every if not address.startswith("/admin/") and not address.endswith(STREAMS)
    ]
    return {
        address.replace(str(it.memory.id), "<id>").replace(str(it.former.id), "<former>")
        for address in walked
        if shows(browser, address)
    }


@async_to_sync
async def whole(response) -> bytes:
    return b"".join([block async for block in response])


def text_of(response) -> str:
    """Of an archive, all of its files."""
    content = whole(response) if response.streaming else response.content
    if not zipfile.is_zipfile(io.BytesIO(content)):
        return content.decode()
    with zipfile.ZipFile(io.BytesIO(content)) as archive:
        return "".join(archive.read(name).decode() for name in archive.namelist())


def shows(browser: Client, address: str) -> bool:
    """Not where the page only repeats what was searched, as it does with a word that nobody said."""
    found = text_of(browser.get(address)).lower().count(WORD)
    if found and WORD in address:
        return found > text_of(browser.get(address.replace(WORD, UNSAID))).lower().count(UNSAID)
    return found > 0


def answering(it: Known) -> set[str]:
    return {name for name, read in READS.items() if read(it)}


def test_it_is_in_no_read_while_it_can_be_undone_and_in_each_again_when_it_was(known):
    read, shown = answering(known), pages(known)
    assert read == set(READS)
    assert len(shown) >= 6

    act = forgettings.forget(known.user.id, [known.memory.id], now=timezone.now())
    assert (answering(known), pages(known)) == (set(), set())

    forgettings.undo(known.user.id, act.id, now=timezone.now())
    # The record of the run that remembered it went for good.
    assert answering(known) >= read - {"of a run"}
    assert pages(known) == {address for address in shown if "/runs/" not in address}


def test_nor_is_it_learned_again_meanwhile(known):
    forgettings.forget(known.user.id, [known.memory.id], now=timezone.now())

    with pytest.raises(ForgottenError):
        longterm.remember(
            known.user.id,
            candidate(
                known.memory.statement,
                source=longterm.Source(known.message_id, SAID),
                quote=SAID,
                channel="extraction",
                said_at=known.memory.said_at,
            ),
        )


@pytest.mark.parametrize("is_final", [True, False])
def test_no_table_holds_it_once_it_is_gone(known, is_final):
    act = forgettings.forget(known.user.id, [known.memory.id], now=timezone.now(), is_final=is_final)

    forgettings.finish(known.user.id, act.id)

    holding = {
        model._meta.label
        for model in apps.get_models()
        for row in model._base_manager.values()
        if WORD in str(row).lower()
        or (str(known.memory.id) in str(row) and model._meta.app_label == "longterm")
    }
    assert holding <= {"longterm.Tombstone"}  # by its id
    assert WORD not in str(list(apps.get_model("longterm", "Tombstone").objects.values()))
