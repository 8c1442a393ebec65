"""``manage.py demo_data [USER]``: an example in all three memories, to look at; harmless to repeat."""

import json
from contextlib import suppress
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

from django.core.management.base import CommandError, CommandParser
from django.utils import timezone

from memoryapp.accounts import queries as accounts
from memoryapp.accounts.models import User
from memoryapp.lifecycle import promotion
from memoryapp.llm.base import Usage
from memoryapp.llm.tokens import estimate_text
from memoryapp.longterm import operations as longterm
from memoryapp.longterm.backdating import backdate
from memoryapp.longterm.models import Memory
from memoryapp.management.example import TALKS, Call, Exchange, Fact, Talk
from memoryapp.management.installation import InstallationCommand
from memoryapp.policies.reconciliation import Outcome
from memoryapp.policies.trust import Origin
from memoryapp.scratchpad import operations as scratchpad
from memoryapp.scratchpad import pad as pads
from memoryapp.scratchpad.models import Run, Step
from memoryapp.scratchpad.pad import Pad
from memoryapp.transcript import conversations, queries
from memoryapp.transcript import operations as transcript
from memoryapp.transcript.models import Conversation, Summary, Turn
from memoryapp.transcript.summaries import NewSummary, add_summary


@dataclass(slots=True)
class _Added:
    conversations: int = 0
    turns: int = 0
    memories: int = 0
    runs: int = 0


class Command(InstallationCommand):
    help = "Add an example of some weeks to USER's account. A second run adds nothing."

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument(
            "user", metavar="USER", nargs="?", default=accounts.FIRST_ACCOUNT, help="default: %(default)s"
        )

    def handle(self, *_args: Any, user: str, **_options: Any) -> None:
        account = accounts.find_user(user)
        if account is None:
            raise CommandError(f"There is no account '{user}'.")
        added = _Added()
        for talk in TALKS:
            _add(talk, account, now=timezone.now(), added=added)
        if added == _Added():
            self.stdout.write(f"The account '{account}' has the example already; nothing was added.")
            return
        self.stdout.write(
            f"Added to the account '{account}': {_counted(added)}.\n"
            "To remove it, forget those memories at /memory/facts/ and delete the conversations in the chat; "
            "the run's record goes by itself."
        )


def _counted(added: _Added) -> str:
    counts = (
        (added.conversations, "conversation", "conversations"),
        (added.turns, "turn", "turns"),
        (added.memories, "memory", "memories"),
        (added.runs, "run", "runs"),
    )
    return ", ".join(f"{number} {one if number == 1 else many}" for number, one, many in counts if number)


def _add(talk: Talk, user: User, *, now: datetime, added: _Added) -> None:
    """What is there of the talk stays, with or without its facts, which expire; what is missing comes after it."""
    conversation = _conversation(talk, user, now=now, added=added)
    for number, exchange in enumerate(talk.exchanges, start=1):
        if queries.turn_of_key(user.id, _key(talk, number)):
            continue
        # Minutes apart, so that the exchanges of one day stand in order; the last of a talk is the moment itself.
        said_at = now - timedelta(days=exchange.days_ago, minutes=len(talk.exchanges) - number)
        turn = transcript.record_turn(
            user,
            conversation.id,
            text=exchange.text,
            reply=exchange.reply,
            idempotency_key=_key(talk, number),
            said_at=said_at,
        )
        added.turns += 1
        if exchange.calls:
            _work(exchange, turn)
            promotion.promote_run(turn, now=now)
            added.runs += 1
        added.memories += sum(_remember(fact, turn) for fact in exchange.facts)
    if talk.summary and queries.current_summary(user.id, conversation.id) is None:
        _summarise(talk, conversation)


def _key(talk: Talk, number: int) -> str:
    """The idempotency key by which a later run knows what is there."""
    return f"demo-data:{talk.slug}:{number}"


def _conversation(talk: Talk, user: User, *, now: datetime, added: _Added) -> Conversation:
    first = queries.turn_of_key(user.id, _key(talk, 1))
    if first:
        conversations.restore_conversations(user.id, [first.conversation_id])
        return queries.get_conversation(user.id, first.conversation_id)
    added.conversations += 1
    began_at = now - timedelta(days=talk.exchanges[0].days_ago)
    return conversations.start_conversation(user, now=began_at, title=talk.title)


def _remember(fact: Fact, turn: Turn) -> bool:
    """Whether that is a new memory: it may be known, and what the person forgot stays forgotten.

    It was learned when it was said, so that growth, activity and earlier days show what they would have shown.
    """
    message, begun_at = queries.user_message(turn), timezone.now()
    with suppress(longterm.ForgottenError):
        remembered = longterm.remember(
            turn.user_id,
            longterm.Candidate(
                kind=fact.kind,
                statement=fact.statement,
                key=fact.key,
                quote=fact.quote,
                origin=fact.origin,
                channel=Memory.Channel.CHAT,
                said_at=message.created_at,
                source=longterm.Source(message.id, message.text),
            ),
        )
        if remembered.outcome != Outcome.IGNORED:
            backdate(turn.user_id, remembered.memory.id, to=message.created_at, since=begun_at)
        return remembered.outcome not in {Outcome.REINFORCED, Outcome.IGNORED}
    return False


def _work(exchange: Exchange, turn: Turn) -> None:
    """The run behind the reply, with its steps."""
    run = scratchpad.open_run(user_id=turn.user_id, turn_id=turn.id, goal=exchange.text, attempt=turn.attempt)
    pad = pads.from_json(run.pad)
    for number, call in enumerate(exchange.calls, start=1):
        pad = _noted(call, pad)
        record = scratchpad.StepRecord(
            tool_use_id=f"toolu_demo_{number}",
            action=call.action,
            arguments=call.arguments,
            observation=call.observation,
            error=json.loads(call.observation)["message"] if call.is_error else "",
            status=Step.Status.ERROR if call.is_error else Step.Status.OK,
            tokens=estimate_text(call.observation),
            duration_ms=call.duration_ms,
            origin=Origin.USER_TYPED,
        )
        scratchpad.record_step(run, record, pad=pad, attempt=turn.attempt)
    # As much as the texts are: the prompt around them is not part of the example.
    said = estimate_text(exchange.reply) + sum(
        estimate_text(json.dumps(call.arguments)) for call in exchange.calls
    )
    heard = estimate_text(exchange.text) + sum(estimate_text(call.observation) for call in exchange.calls)
    scratchpad.close_run(
        turn.id,
        attempt=turn.attempt,
        status=Run.Status.COMPLETED,
        spending=scratchpad.Spending(Usage(input_tokens=heard, output_tokens=said)),
    )


def _noted(call: Call, pad: Pad) -> Pad:
    if call.is_error:
        described = f"{call.action} {json.dumps(call.arguments, sort_keys=True)}"
        return pad.with_failure(pads.Failure(described, json.loads(call.observation)["message"]))
    if call.action == "update_plan":
        return pad.with_plan(
            todo=tuple(call.arguments["todo"]), open_questions=tuple(call.arguments["open_questions"])
        )
    if call.noted:
        pad = pad.with_fact(pads.Fact(*call.noted, source=call.action))
    return _finished(call.done, pad) if call.done else pad


def _finished(item: str, pad: Pad) -> Pad:
    left = tuple(each for each in pad.todo if each != item)
    return pad.with_done(item).with_plan(todo=left, open_questions=pad.open_questions)


def _summarise(talk: Talk, conversation: Conversation) -> None:
    covered = queries.turn_sizes(
        conversation.user_id, conversation.id, after_seq=0, before_seq=talk.summarised + 1
    )
    last = queries.turns(conversation.user_id, conversation.id).get(seq=talk.summarised)
    new = NewSummary(
        last_turn_id=last.id,
        last_seq=last.seq,
        text=talk.summary,
        method=Summary.Method.MODEL,
        trigger=Summary.Trigger.AFTER_TURN,
        model="example",
        tokens_before=sum(turn.tokens for turn in covered),
    )
    add_summary(conversation, new, replaces=None)
