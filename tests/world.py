"""One row of everything for a person, each holding the same word, to be looked for where it must not be."""

from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from uuid import UUID, uuid4

from django.apps import apps
from django.core import serializers
from django.utils import timezone

from memoryapp.accounts import operations as accounts
from memoryapp.accounts.models import User
from memoryapp.acting import Actor, acting_as
from memoryapp.activity import operations as activity
from memoryapp.context import exclusions, uses
from memoryapp.forgetting.models import Purge
from memoryapp.lifecycle.models import LifecycleRun
from memoryapp.lifecycle.operations import logged
from memoryapp.llm import messages_json
from memoryapp.llm.base import ModelMessage, Text, Usage
from memoryapp.longterm import experiences, forgettings, kind_changes, lifetimes, refusals
from memoryapp.longterm import operations as longterm
from memoryapp.longterm.experiences import Lesson
from memoryapp.longterm.models import Memory
from memoryapp.longterm.operations import Candidate, Source
from memoryapp.policies.trust import Origin
from memoryapp.portability.models import ImportBatch, ImportFile, ImportItem
from memoryapp.receipts import queries as receipts
from memoryapp.scratchpad import operations as scratchpad
from memoryapp.scratchpad.models import Approval, Checkpoint, Grant, PadEdit, Run, Step
from memoryapp.scratchpad.operations import StepRecord
from memoryapp.scratchpad.pad import Op, Pad
from memoryapp.tooling import operations as tooling
from memoryapp.tooling.models import McpServer
from memoryapp.transcript import claims, conversations, queries, summaries
from memoryapp.transcript import operations as transcript
from memoryapp.transcript.models import Message, Summary, Turn
from memoryapp.transcript.summaries import NewSummary
from memoryapp.tuning import operations as tuning
from memoryapp.tuning.models import Setting, SettingChange
from tests.snapshots import snapshot

CONTENT = "marmalade"


@dataclass(frozen=True, slots=True)
class World:
    """The ids that addresses take, by the name that the addresses give them."""

    conversation_id: UUID
    turn_id: UUID
    run_id: UUID
    memory_id: UUID
    experience_id: UUID
    token_id: UUID
    line_id: UUID
    tool_use_id: str
    server_id: UUID
    user_id: UUID
    message_id: UUID
    forgetting_id: UUID
    receipt_id: UUID
    import_id: UUID


def everything_of(user: User) -> World:
    """A conversation with a finished turn, its run, summary, kept line, context; memories; a token; a sign-in link."""
    now = timezone.now()
    conversation = conversations.start_conversation(user, now=now, title=f"About {CONTENT}")
    turn = finished_turn(
        user, conversation.id, text=f"I like {CONTENT}.", reply=f"I will remember {CONTENT}."
    )
    summaries.add_summary(
        conversation,
        NewSummary(
            last_turn_id=turn.id,
            last_seq=1,
            text=f"The user likes {CONTENT}.",
            method=Summary.Method.MODEL,
            trigger=Summary.Trigger.AFTER_TURN,
            model="offline",
            tokens_before=100,
        ),
        replaces=None,
    )
    line = summaries.pin_line(user.id, turn.id, text=f"I like {CONTENT}.")
    memory = longterm.remember(user.id, _said(turn, f"Likes {CONTENT}", key="food.breakfast")).memory
    longterm.edit(user.id, memory.id, version=1, now=now, statement=f"Likes bitter {CONTENT}")
    forgotten = longterm.remember(
        user.id, replace(_said(turn, f"Hated {CONTENT}"), quote="", source=None)
    ).memory
    longterm.forget(user.id, forgotten.id, now=now)
    hidden = longterm.remember(
        user.id, replace(_said(turn, f"Bought {CONTENT} in a shop"), quote="", source=None)
    ).memory
    forgetting = forgettings.forget(user.id, [hidden.id], now=now)
    lifetimes.extend(user.id, [memory.id], now=now + timedelta(days=2), undo_id=uuid4())
    refusals.refuse(user.id, "session")
    kind_changes.change("session", {"label": "Of the moment"}, changed_by=user.id, now=now)
    run = Run.objects.get(turn=turn)
    user.refresh_from_db()  # the forgetting moved the memory epoch
    learned = experiences.record(
        user.id,
        Lesson(goal=CONTENT, tools=("recall",), worked=CONTENT, avoid=CONTENT, origin=Origin.MODEL_INFERRED),
        run_id=run.id,
        epoch_at_start=user.memory_epoch,
        now=now,
    )
    assert learned
    said = messages_json.to_json(ModelMessage("assistant", (Text(CONTENT),)))
    Checkpoint.objects.create(user=user, run=run, number=1, delta=[said], taint="user_typed")
    approval = Approval.objects.create(
        user=user,
        run=run,
        tool_use_id=f"ask-{run.id}",
        action="send_note",
        arguments={"text": CONTENT},
        why=CONTENT,
        touches=CONTENT,
        source="Post",
        nonce="nonce",
        expires_at=now + timedelta(days=1),
    )
    PadEdit.objects.create(
        user=user, run=run, number=1, op=Op.ADD_FACT, target=CONTENT, text=CONTENT, applied_at=now
    )
    Grant.objects.create(user=user, conversation_id=conversation.id, action="send_note")
    snapshot(turn, _recalled(memory), sections=[{"name": "system", "tokens": 5, "cached": True}])
    logged(LifecycleRun.Job.EMBEDDING, lambda: 1, user_id=user.id)
    tuning.spend(user.id, Usage(input_tokens=10, output_tokens=5))
    Setting.objects.get_or_create(
        name="run_max_steps", defaults={"value": 20, "changed_at": now, "reason": "Long tasks."}
    )
    SettingChange.objects.create(
        before={"run_max_steps": None}, after={"run_max_steps": 20}, changed_at=now, reason="Long tasks."
    )
    Purge.objects.create(started_at=now, finished_at=now, error="The table was in use.")
    uses.note_looked_up(turn, [memory.id])
    exclusions.exclude(turn, [memory.id])
    with acting_as(Actor.PROGRAM, "laptop"):
        activity.note_program_reads(user.id, [memory.id], now=now)
    activity.open_memory(
        user.id, admin_id=user.id, reason="Ticket 7", now=now, until=now + timedelta(minutes=30)
    )
    token, _ = accounts.create_token(user, name="laptop", now=now)
    accounts.create_sign_in_link(user)
    server = McpServer.objects.create(
        slug=user.id.hex[-24:], name="Tools", url="https://tools.example/mcp", listed_at=now
    )
    tooling.use_server(user.id, conversation.id, server.id, is_on=True)
    return World(
        conversation.id,
        turn.id,
        run.id,
        memory.id,
        learned.id,
        token.id,
        line.id,
        approval.tool_use_id,
        server.id,
        user.id,
        turn.messages.get(role=Message.Role.USER).id,
        forgetting.id,
        receipts.receipts(user.id)[0].id,
        _import(user, now=now).id,
    )


def _import(user: User, *, now: datetime) -> ImportBatch:
    """One that was read and waits to be looked at."""
    batch = ImportBatch.objects.create(
        user=user,
        created_at=now,
        format="strata",
        status=ImportBatch.Status.READY,
        samples={"new": [{"sort": "memory", "text": CONTENT}]},
    )
    ImportFile.objects.create(user=user, batch=batch, number=0, data=CONTENT.encode())
    ImportItem.objects.create(
        user=user, batch=batch, sort=ImportItem.Sort.MEMORY, number=0, outcome=ImportItem.Outcome.NEW
    )
    return batch


def posted_turn(user: User, conversation_id: UUID, text: str = "Hello") -> Turn:
    turn, _ = transcript.post_turn(
        user, conversation_id, text=text, idempotency_key=str(uuid4()), now=timezone.now()
    )
    return turn


def finished_turn(user: User, conversation_id: UUID, *, text: str, reply: str) -> Turn:
    """A turn with one step, answered."""
    turn = posted_turn(user, conversation_id, text)
    claim = claims.claim_turn(turn.id)
    assert claim
    run = scratchpad.open_run(user_id=user.id, turn_id=turn.id, goal=text, attempt=claim.attempt)
    step = StepRecord(
        tool_use_id="call-1",
        action="recall",
        arguments={"query": text},
        observation=reply,
        status=Step.Status.OK,
        tokens=7,
        duration_ms=3,
        origin=Origin.TOOL,
    )
    scratchpad.record_step(run, step, pad=Pad(goal=text).with_done(reply), attempt=claim.attempt)
    scratchpad.close_run(turn.id, attempt=claim.attempt, status=Run.Status.COMPLETED)
    usage = Usage(input_tokens=10, output_tokens=5)
    claims.finish_turn(claim, reply=reply, model="offline", usage=usage)
    return queries.get_turn(user.id, turn.id)


def failed_turn(user: User, conversation_id: UUID) -> Turn:
    turn = posted_turn(user, conversation_id)
    claim = claims.claim_turn(turn.id)
    assert claim
    claims.fail_turn(
        claim,
        status=Turn.Status.FAILED,
        partial_text="I was about to",
        code="model_unavailable",
        message="The model is away.",
    )
    return queries.get_turn(user.id, turn.id)


def rows_of(user: User) -> dict[str, str]:
    """Everything stored about a person, table by table, to compare before and after."""
    found = {"user": serializers.serialize("json", User.objects.filter(id=user.id))}
    for model in apps.get_models():
        if any(field.name == "user" and field.related_model is User for field in model._meta.fields):
            rows = model._base_manager.filter(user=user).order_by("pk")
            found[model._meta.label] = serializers.serialize("json", rows)
    return found


def _said(turn: Turn, statement: str, *, key: str = "") -> Candidate:
    message = turn.messages.get(role=Message.Role.USER)
    return Candidate(
        kind="preference",
        statement=statement,
        key=key,
        origin=Origin.USER_TYPED,
        channel=Memory.Channel.CHAT,
        said_at=timezone.now(),
        quote=CONTENT,
        source=Source(message.id, message.text),
    )


def _recalled(memory: Memory) -> dict[str, object]:
    return {
        "memory_id": str(memory.id),
        "arms": {"cosine": 0.5, "overlap": 0.5},
        "confidence": 0.9,
        "score": 0.9,
        "included": True,
        "reason": "relevant",
    }
