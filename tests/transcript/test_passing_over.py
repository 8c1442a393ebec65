"""Nothing more is learned from a message that holds what was forgotten, however many texts are looked for at once."""

import pytest

from memoryapp.transcript import sources
from tests.transcript.branching import talk


def unread(user, turn) -> list[str]:
    return [message.text for message in sources.not_extracted(user.id, turn.conversation_id, limit=9)]


@pytest.mark.parametrize("others", [0, sources.MANY_TEXTS])
def test_messages_that_hold_a_text_are_passed_over_and_no_others(alice, bob, others):
    (held,) = talk(alice, "You know that I live in Porto.")
    (other,) = talk(alice, "I LIVE IN PORTO, in capitals.")
    (bobs,) = talk(bob, "I live in Porto too.")

    sources.pass_over(
        alice.id, texts=["I live in Porto", *(f"I own {number} boats" for number in range(others))]
    )

    assert unread(alice, held) == []
    assert unread(alice, other) == ["I LIVE IN PORTO, in capitals."]
    assert unread(bob, bobs) == ["I live in Porto too."]
