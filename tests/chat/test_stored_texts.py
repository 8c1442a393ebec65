"""What workers stored in English, on the pages of those who read something else."""

import pytest
from django.utils.translation import override

from chat.tool_words import NAMES
from chat.tools import BUILT_IN
from chat.turn import RunStuckError
from chat.waits import LimitReachedError
from memoryapp.inspector.stored_texts import (
    FAILURES,
    LED_BY_STRANGERS,
    STUCK,
    failure_text,
    touches_text,
    wait_text,
)
from memoryapp.lifecycle.daily_budget import DailyBudgetSpentError
from memoryapp.llm.errors import Cancelled, ModelError
from memoryapp.scratchpad.operations import OvertakenError
from memoryapp.transcript.models import Turn

STORED = "This took as much as one message may: the limit of 12 steps is reached."


@pytest.fixture
def german(monkeypatch):
    """The language, with a translation of all that is asked for."""
    monkeypatch.setattr("memoryapp.inspector.stored_texts.gettext", lambda text: f"DE {text}")
    with override("de"):
        yield


def failed(code: str, message: str = STORED) -> Turn:
    return Turn(status=Turn.Status.FAILED, error_code=code, error_message=message)


def waiting(reason: Turn.WaitReason, message: str) -> Turn:
    return Turn(status=Turn.Status.WAITING, wait_reason=reason, wait_message=message)


def test_readers_of_english_get_the_stored_sentence_with_its_numbers():
    with override("en-gb"):
        assert failure_text(failed("run_limit_reached")) == STORED


def test_others_get_the_sentence_of_the_code(german):
    assert failure_text(failed("run_limit_reached")) == str(FAILURES["run_limit_reached"]) != STORED


def test_a_code_without_a_sentence_leaves_the_stored_one(german):
    assert failure_text(failed("of_a_later_version")) == STORED


@pytest.mark.parametrize(
    "error",
    [
        *(error for error in ModelError.__subclasses__() if error is not Cancelled),
        DailyBudgetSpentError,
        LimitReachedError,
        OvertakenError,
        RunStuckError,
    ],
)
def test_every_error_that_ends_a_turn_has_a_sentence(error):
    assert error.code in FAILURES


def test_a_wait_for_the_model_is_said_in_the_readers_language(german):
    assert (
        wait_text(waiting(Turn.WaitReason.MODEL, "The model is overloaded.")) == "DE The model is overloaded."
    )
    assert wait_text(waiting(Turn.WaitReason.MODEL, "")) == ""


def test_why_a_run_got_nowhere_is_told_with_its_tool_in_english_alone(german):
    stuck = waiting(Turn.WaitReason.STUCK, "The tool fetch_page failed 3 times in the same way: no such host")

    assert wait_text(stuck) == f"DE {STUCK}"
    with override("en"):
        assert "fetch_page" in wait_text(stuck)


def test_of_what_a_call_touches_the_tools_own_words_stay(german):
    assert touches_text(f"the notebook {LED_BY_STRANGERS}") == f"the notebook DE {LED_BY_STRANGERS}"
    assert touches_text("the notebook") == "the notebook"


def test_every_tool_that_comes_with_strata_has_a_name():
    assert set(NAMES) == BUILT_IN
