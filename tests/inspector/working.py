"""Runs that a worker is at, or has ended, and how the list of them reads."""

from uuid import uuid4

from django.urls import reverse

from memoryapp.llm.base import Usage
from memoryapp.longterm.models import Kind
from memoryapp.scratchpad import approvals
from memoryapp.scratchpad import operations as scratchpad
from memoryapp.scratchpad.models import Run, Step
from memoryapp.scratchpad.operations import Spending, StepRecord
from memoryapp.scratchpad.pad import Pad
from memoryapp.transcript import claims
from memoryapp.transcript.models import Turn
from tests.turns import claim, post

RUNS = reverse("inspector:runs")


class Working:
    """A run that a worker is at."""

    def __init__(self, user, goal="Plan the trip"):
        self.claim = claim(post(user, goal))
        self.attempt = self.claim.attempt
        self.run = scratchpad.open_run(
            user_id=user.id, turn_id=self.claim.turn_id, goal=goal, attempt=self.attempt
        )

    def step(self, status=Step.Status.OK, *, pad=None, **values):
        record = {
            "tool_use_id": str(uuid4()),
            "action": "calculate",
            "arguments": {"expression": "2+2"},
            "observation": "4",
            "status": status,
            "tokens": 7,
            "duration_ms": 3,
            "origin": "tool",
        }
        pad = pad or Pad(goal=self.run.goal)
        return scratchpad.record_step(
            self.run, StepRecord(**(record | values)), pad=pad, attempt=self.attempt
        )

    def keep(self, number, *, usage=None, active_ms=0):
        scratchpad.checkpoint(
            self.run,
            number=number,
            delta=[{"role": "user"}],
            pad=Pad(goal=self.run.goal),
            taint="user_typed",
            attempt=self.attempt,
            spending=Spending(usage=usage, active_ms=active_ms),
        )

    def ask(self, tool_use_id="ask-1"):
        return approvals.ask(
            self.run,
            approvals.Question(
                tool_use_id=tool_use_id,
                action="send_mail",
                arguments={"to": "bob@example.org"},
                why="Shall I tell Bob?",
                touches="your mailbox",
                source="Post",
                fingerprint="",
            ),
            attempt=self.attempt,
        )

    def wait(self, reason=Turn.WaitReason.APPROVAL, message="Strata wants to send a mail."):
        assert claims.wait_turn(
            self.claim, reason=reason, message=message, wait_s=3600, partial_text="So far"
        )

    def end(self, status=Run.Status.COMPLETED):
        if status == Run.Status.COMPLETED:
            claims.finish_turn(self.claim, reply="Done.", model="m", usage=Usage())
        else:
            claims.fail_turn(
                self.claim,
                status=Turn.Status(status),
                partial_text="",
                code="model_unavailable",
                message="The model is away.",
            )
        scratchpad.close_run(self.claim.turn_id, attempt=self.attempt, status=status)
        return self.run

    @property
    def page(self):
        return reverse("inspector:run", args=[self.run.id])

    @property
    def live(self):
        return reverse("inspector:run_live", args=[self.run.id])


def finished_with_steps(user, count):
    at_work = Working(user)
    for _ in range(count):
        at_work.step()
    return at_work.end()


def kept_for(days):
    Kind.objects.filter(subject=Kind.Subject.RUN).update(ttl_days=days)


def listed(browser, **filters):
    return [row.head for row in browser.get(RUNS, filters).context["runs"]]
