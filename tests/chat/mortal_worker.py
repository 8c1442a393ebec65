"""Loaded into a real worker (``celery worker --include``): it kills itself at the point that was chosen for a turn.

One person has one turn. Redis holds what outlives the worker: the person's point, how many were passed, and the effects
of tools.
"""

import os
import signal
from uuid import UUID

from chat import tasks, tools
from chat.turn import run_turn
from memoryapp.redis_client import redis_client
from memoryapp.tooling.base import Arguments, Tool, ToolContext, ToolOutput
from memoryapp.transcript import queries
from memoryapp.transcript.claims import Claim
from tests.chat.dying import mortal


class TextArguments(Arguments):
    text: str


class Sigkill:
    """Comes at the point that was chosen for the person, once, whichever worker reaches it."""

    def __init__(self, user_id: UUID) -> None:
        self._user_id = user_id
        self._at = int(redis_client().get(point_key(user_id)) or 0)  # type: ignore[arg-type]

    def reach(self, _name: str) -> None:
        if redis_client().incr(passed_key(self._user_id)) == self._at:
            os.kill(os.getpid(), signal.SIGKILL)


def point_key(user_id: UUID) -> str:
    return f"test:point:{user_id}"


def passed_key(user_id: UUID) -> str:
    return f"test:passed:{user_id}"


def effects_key(user_id: UUID, name: str) -> str:
    return f"test:effects:{user_id}:{name}"


def _book(_arguments: TextArguments, context: ToolContext) -> ToolOutput:
    if redis_client().set(f"test:key:{context.idempotency_key}", 1, nx=True):
        redis_client().incr(effects_key(context.user_id, "book"))
    return ToolOutput("booked")


def _send_letter(_arguments: TextArguments, context: ToolContext) -> ToolOutput:
    redis_client().incr(effects_key(context.user_id, "send_letter"))
    return ToolOutput("sent")


def tools_with_effects(_taken: object = None) -> tuple[Tool, ...]:
    return (
        Tool.of("book", "Book.", TextArguments, _book, side_effects=True, is_idempotent=True),
        Tool.of(
            "send_letter",
            "Send.",
            TextArguments,
            _send_letter,
            side_effects=True,
            needs_approval=True,
            touches="A letter to Anna.",
        ),
    )


def _answer(claim: Claim) -> None:
    user_id = queries.turn_for_worker(claim.turn_id).user_id
    with mortal(Sigkill(user_id)):
        run_turn(claim)


if os.environ.get("MORTAL_WORKER"):  # a test that imports this goes on living
    tools.added_tools = tools_with_effects  # type: ignore[assignment]
    tasks.answer = _answer
    tasks._warm_up = lambda: None  # loading what these runs do not need would take longer than they live
