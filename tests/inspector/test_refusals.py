"""Why a reason was refused, as a page says it."""

import pytest

from memoryapp.inspector.administration import refusals
from memoryapp.policies.reasons import ReasonMissingError, cleaned


@pytest.mark.parametrize(
    ("reason", "said"),
    [
        ("My password is hunter2!", "[Say why without [a password]: others read it.]"),
        ("", "[Say why, in 3 to 30 characters that can be read.]"),
    ],
)
def test_the_sentence_and_what_fills_it_are_both_translated(monkeypatch, reason, said):
    monkeypatch.setattr(refusals, "gettext", lambda text: f"[{text}]")
    with pytest.raises(ReasonMissingError) as refused:
        cleaned(reason, max_chars=30)

    assert refusals.reason_problem(refused.value) == said
