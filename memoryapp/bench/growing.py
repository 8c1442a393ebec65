"""The measurements of ``bench transcript``, in a process that has a database and a scripted model."""

import json
import statistics
import time
from collections.abc import Callable
from dataclasses import dataclass
from math import inf
from uuid import UUID, uuid4

from celery import current_app
from django.db import connection
from django.test.utils import CaptureQueriesContext
from django.utils import timezone

from memoryapp.accounts import operations as accounts
from memoryapp.accounts.models import User
from memoryapp.bench.installation import BenchFailedError
from memoryapp.bench.needles import NEEDLES, Needle, small_talk
from memoryapp.bench.report import Row
from memoryapp.conf import get_conf
from memoryapp.context import assembly
from memoryapp.context import queries as contexts
from memoryapp.context.assembly import ContextWindow
from memoryapp.lifecycle import compaction
from memoryapp.llm.base import Cancellation, ModelMessage, Text
from memoryapp.llm.messages_wire import encode_prompt
from memoryapp.llm.registry import chat_limits
from memoryapp.nudges import RUN_TURN
from memoryapp.policies.budget import share_out
from memoryapp.tooling.base import ToolContext
from memoryapp.transcript import conversations, queries
from memoryapp.transcript import operations as transcript
from memoryapp.transcript.models import Conversation, Summary, Turn
from memoryapp.transcript.tools import SearchConversationsArguments, run_search_conversations
from memoryapp.tuning import queries as tuning

SAID = (
    "Let us look at the plan for the week once more: the workshop in the morning, the call with the printers after "
    "lunch, and then the drawings for the east wing, which still lack the measures of the second floor."
)

COMPACTED_EVERY = 10  # turns of small talk
RECORD_OF_PROMPT = 'INSERT INTO "context_contextsnapshot"'

Say = Callable[[str], None]


@dataclass(frozen=True, slots=True)
class Sizes:
    """In turns: of the two conversations that are compared, of the scripted one, of the small talk with its
    ``needles``."""

    short: int = 50
    long: int = 10_000
    scripted: int = 200
    small_talk: int = 400
    needles: int = len(NEEDLES)
    repeats: int = 40


def costs(sizes: Sizes, say: Say) -> list[Row]:
    """What a turn costs in a long conversation, and what keeping it bounded costs."""
    current_app.loader.import_default_modules()  # the tasks, as a worker does
    user = accounts.ensure_first_account()
    say(f"Assembling the prompt of a conversation of {sizes.short} and of {sizes.long:,} turns …")
    rows = _assembly(user, sizes)
    say(f"{sizes.scripted} turns, one after the other …")
    return rows + _scripted(user, sizes)


def _assembly(user: User, sizes: Sizes) -> list[Row]:
    """The same state in both: everything but the newest turns is summarised."""
    pair = [_talked(user, turns) for turns in (sizes.short, sizes.long)]
    times_ms: list[list[float]] = [[], []]
    statements = [0, 0]
    for _ in range(sizes.repeats):
        for place, conversation in enumerate(pair):
            began = time.perf_counter()
            with CaptureQueriesContext(connection) as captured:
                encode_prompt(_window(conversation).request())
            times_ms[place].append((time.perf_counter() - began) * 1000)
            statements[place] = len(captured)
    short, long = (statistics.median(times) for times in times_ms)
    of_short, of_long = (_statements_to_the_model(user, conversation) for conversation in pair)
    return [
        Row(f"assembly, {sizes.short} turns, median", short, "ms"),
        Row(f"assembly, {sizes.long:,} turns, median", long, "ms"),
        Row("  ratio", long / short, "", 1.2),
        Row(f"statements, {sizes.short} turns", statements[0], ""),
        Row(f"statements, {sizes.long:,} turns", statements[1], "", statements[0]),
        Row(f"statements from claim to the model, {sizes.short} turns", of_short, ""),
        Row(f"statements from claim to the model, {sizes.long:,} turns", of_long, "", of_short),
    ]


def _statements_to_the_model(user: User, conversation: Conversation) -> int:
    """What the worker asks the database, of a second turn so that nothing is done for the first time.

    The record of what the model is shown is the last of it.
    """
    tuning.remember({}, fresh_s=inf)  # they are asked for by the clock, in whichever turn that falls
    _run(_post(user, conversation, SAID))
    turn_id = _post(user, conversation, SAID)
    with CaptureQueriesContext(connection) as captured:
        _run(turn_id)
    return 1 + next(place for place, query in enumerate(captured) if RECORD_OF_PROMPT in str(query["sql"]))


def _talked(user: User, turns: int) -> Conversation:
    """A conversation of that many turns, folded into its summary until nothing more may be."""
    conversation = conversations.start_conversation(user, now=timezone.now())
    for number in range(turns):
        _record(user, conversation, f"{number}: {SAID}", f"Yes, as you say. {SAID}")
    while compaction.compact(user.id, conversation.id, trigger=Summary.Trigger.MANUAL).versions:
        continue
    return queries.get_conversation(user.id, conversation.id)


def _scripted(user: User, sizes: Sizes) -> list[Row]:
    conversation = conversations.start_conversation(user, now=timezone.now())
    shares, fill, turn_tokens, summariser_tokens, compactions = [], [], 0, 0, 0
    has_just_compacted = True  # the first prompt has none before it
    for number in range(sizes.scripted):
        turn = _run(_post(user, conversation, f"Turn {number}. {SAID}"))
        snapshot = contexts.newest_snapshot(user.id, turn.id)
        assert snapshot is not None
        total = sum(int(str(section["tokens"])) for section in snapshot.sections)
        if not has_just_compacted:
            shares.append(snapshot.prefix_tokens / total)
        fill.append((snapshot.reported_input_tokens or 0) / _input_tokens())
        turn_tokens += (snapshot.reported_input_tokens or 0) + turn.output_tokens
        done = compaction.compact_after(turn)
        has_just_compacted = done.versions > 0
        compactions += done.versions
        summariser_tokens += done.usage.total_input_tokens + done.usage.output_tokens
    versions = queries.summaries(user.id, conversation.id)
    return [
        Row("largest prompt / what a prompt may hold", max(fill), "", 1.0),
        Row(
            "prompt identical to the one before, median",
            statistics.median(shares),
            "",
            0.85,
            is_at_least=True,
        ),
        Row("summariser / all tokens", summariser_tokens / (summariser_tokens + turn_tokens), "", 0.15),
        Row(f"compactions in {sizes.scripted} turns", compactions, ""),
        Row("  of them without the model", versions.exclude(method=Summary.Method.MODEL).count(), "", 0),
    ]


def facts(sizes: Sizes, say: Say) -> list[Row]:
    """Whether what was said is still at hand: in the prompt, or by the tool that the model looks it up with.

    What the fallback keeps, in a process without model summaries, is the least that a conversation keeps.
    """
    user, needles = accounts.ensure_first_account(), NEEDLES[: sizes.needles]
    say(f"{len(needles)} facts in {sizes.small_talk} turns of small talk …")
    conversation = conversations.start_conversation(user, now=timezone.now())
    every = sizes.small_talk // len(needles)
    for number, (said, reply) in enumerate(small_talk(sizes.small_talk)):
        needle = f" {needles[number // every].said}" if number % every == every // 2 else ""
        _record(user, conversation, said + needle, reply)
        if number % COMPACTED_EVERY == COMPACTED_EVERY - 1:
            compaction.compact(user.id, conversation.id, trigger=Summary.Trigger.MANUAL)
    request = _window(queries.get_conversation(user.id, conversation.id)).request()
    prompt = "\n".join(
        block.text for message in request.messages for block in message.blocks if isinstance(block, Text)
    )
    in_prompt = {needle for needle in needles if needle.said in prompt}
    found = {needle for needle in needles if _is_found(user.id, conversation.id, needle, needle.asked)}
    reworded = {needle for needle in needles if _is_found(user.id, conversation.id, needle, needle.reworded)}
    for missing in set(needles) - in_prompt - found:
        say(f"Not found: {missing.said}")
    method = Summary.Method.MODEL if get_conf().model_summaries else Summary.Method.EXTRACTIVE
    made = queries.summaries(user.id, conversation.id).filter(method=method).count()
    count = len(needles)
    return [
        Row(f"{method} summaries in {sizes.small_talk} turns of small talk", made, ""),
        Row(f"  {method}: facts word for word in the prompt", len(in_prompt) / count, ""),
        Row(f"  {method}: facts found by search, top 5", len(found) / count, ""),
        Row(f"  {method}: the same, asked in other words", len(reworded) / count, ""),
        Row(
            f"  {method}: in the prompt or found by search",
            len(in_prompt | found) / count,
            "",
            1.0,
            is_at_least=True,
        ),
    ]


def _is_found(user_id: UUID, conversation_id: UUID, needle: Needle, query: str) -> bool:
    """Whether the model reads the fact, word for word, in the five results that its tool returns for the question."""
    arguments = SearchConversationsArguments(query=query, limit=5)
    context = ToolContext(
        user_id=user_id,
        conversation_id=conversation_id,
        run_id=uuid4(),
        tool_use_id="bench",
        time_zone="UTC",
        now=timezone.now(),
        epoch_at_start=0,
        cancellation=Cancellation(),
        may_search_others=False,
    )
    found = run_search_conversations(arguments, context)
    return any(needle.said in item["text"] for item in json.loads(found.content)["items"])


def _post(user: User, conversation: Conversation, text: str) -> UUID:
    turn, _ = transcript.post_turn(
        user, conversation.id, text=text, idempotency_key=str(uuid4()), now=timezone.now()
    )
    return turn.id


def _run(turn_id: UUID) -> Turn:
    """The turn through the real loop, as a worker runs it."""
    current_app.tasks[RUN_TURN](str(turn_id))
    turn = queries.turn_for_worker(turn_id)
    if turn.status != Turn.Status.COMPLETED:
        raise BenchFailedError(f"Turn {turn.seq} ended as {turn.status}: {turn.error_message}")
    return turn


def _record(user: User, conversation: Conversation, text: str, reply: str) -> None:
    transcript.record_turn(
        user, conversation.id, text=text, reply=reply, idempotency_key=str(uuid4()), said_at=timezone.now()
    )


def _window(conversation: Conversation) -> ContextWindow:
    model = get_conf().chat_model
    return assembly.open_window(
        conversation,
        before_seq=conversation.last_seq + 1,
        run=[ModelMessage("user", (Text("And now?"),))],
        tools=(),
        model=model,
        limits=chat_limits(),
    )


def _input_tokens() -> int:
    return share_out(chat_limits()).input_tokens
