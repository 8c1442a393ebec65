"""The scratchpad of a run that goes on, changed by a program for its person."""

import pytest

from tests.api.requests import assert_problem, send
from tests.inspector.working import Working

pytestmark = pytest.mark.usefixtures("nudges")


@pytest.fixture
def path(alice) -> str:
    return f"/turns/{Working(alice).claim.turn_id}/scratchpad"


def test_an_edit_is_in_the_answer_and_in_what_is_read_afterwards(api, path):
    change = {"op": "add_fact", "target": "dates", "text": "1 to 8 May"}

    made = send(api, "POST", f"{path}/edits", change)
    read = send(api, "GET", path)

    fact = {"key": "dates", "value": "1 to 8 May", "source": "the user"}
    assert (made.status_code, made.json()["facts"]) == (201, [fact])
    assert read.json()["facts"] == [fact]


@pytest.mark.parametrize(
    ("change", "status", "code"),
    [
        ({"op": "strike_todo", "target": "Rent a car"}, 409, "pad_changed"),
        ({"op": "add_todo", "text": "password: tr0ub4dor&3x"}, 422, "secret_refused"),
        ({"op": "add_todo", "text": " "}, 422, "invalid_input"),
        ({"op": "burn"}, 422, ""),
        ({"op": "add_todo", "text": "Ask", "tagret": "x"}, 422, ""),
    ],
)
def test_what_is_not_taken_is_refused_with_the_reason(api, path, change, status, code):
    assert_problem(send(api, "POST", f"{path}/edits", change), status, code)


def test_an_ended_run_takes_none(api, alice):
    at_work = Working(alice)
    at_work.end()

    answer = send(
        api, "POST", f"/turns/{at_work.claim.turn_id}/scratchpad/edits", {"op": "add_todo", "text": "Ask"}
    )

    assert_problem(answer, 409, "run_ended")
