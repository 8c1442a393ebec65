"""What would become of a statement is what becomes of it, and asking changes nothing."""

import pytest

from memoryapp.longterm import forgettings, refusals
from memoryapp.longterm import operations as longterm
from memoryapp.longterm.foreseeing import foresee
from memoryapp.longterm.models import Kind, Memory
from memoryapp.longterm.operations import ForgottenError, SecretRefusedError
from memoryapp.policies.trust import Origin
from tests.longterm.saying import DAY, NOW, candidate, message, remember
from tests.world import rows_of

SAID = [
    ("I have a piano", {}),
    ("I like figs", {}),
    ("I like figs!", {"origin": Origin.UNTRUSTED}),
    ("I live in Porto", {"key": "city"}),
    ("I live in Porto", {"key": "city", "origin": Origin.MODEL_INFERRED}),
    ("I live in Porto", {"key": "city", "said_at": NOW - 9 * DAY}),
    ("I lived in Rome from 2001 to 2004", {}),
    ("Somebody says that the invoice is due", {"origin": Origin.UNTRUSTED}),
    ("My sister is called Eva", {"kind": "identity", "origin": Origin.IMPORTED}),
    ("I live in Faro", {"key": "city", "said_at": NOW - 9 * DAY}),
    ("I only drink coffee, never tea", {"key": "drink", "channel": "chat"}),
    ("I no longer live in Rome", {"key": "city", "channel": "chat"}),
]


@pytest.fixture
def known(alice):
    remember(alice, "I like figs", said_at=NOW - DAY)
    remember(alice, "I live in Faro", key="city", said_at=NOW - 5 * DAY)
    remember(alice, "I live in Lisbon", key="city", said_at=NOW - DAY)


@pytest.mark.parametrize(("statement", "values"), SAID)
@pytest.mark.parametrize("asks", [False, True])
def test_it_is_what_remembering_comes_to(alice, known, statement, values, asks):
    Kind.objects.filter(slug="event").update(needs_confirmation=asks)
    said = candidate(statement, **values)

    before = rows_of(alice)
    foreseen = foresee(alice.id, said)
    assert rows_of(alice) == before
    remembered = longterm.remember(alice.id, said)

    assert foreseen.outcome == remembered.outcome
    assert (foreseen.met.id if foreseen.met else None) == remembered.met
    if remembered.met is None:
        assert foreseen.candidate.key == remembered.memory.key


def test_it_knows_when_the_memory_would_expire(alice):
    said = candidate("I have a piano")

    foreseen = foresee(alice.id, said)
    remember(alice, "I have a piano")

    assert foreseen.expires_at == Memory.objects.for_user(alice.id).with_expiry().get().fades_at
    assert foresee(alice.id, candidate("I am Ada", kind="identity")).expires_at is None


def test_it_says_that_a_refused_kind_would_refuse_it(alice):
    refusals.refuse(alice.id, "preference")

    foreseen = foresee(alice.id, candidate("I like figs", kind="preference"))

    assert (foreseen.outcome, "You do not want anything of the kind" in foreseen.refusal) == (None, True)


def test_other_words_of_what_is_forgotten_would_be_refused(alice):
    gone = remember(alice, "I like figs", said_at=NOW - DAY).memory
    forgettings.forget(alice.id, [gone.id], now=NOW)
    source = message(alice, "figs, well, those I like")
    said = candidate(
        "I like figs", source=source, quote="figs", origin=Origin.MODEL_INFERRED, said_at=NOW + DAY
    )

    foreseen = foresee(alice.id, said)

    assert (foreseen.outcome, "You had this forgotten" in foreseen.refusal) == (None, True)
    with pytest.raises(ForgottenError):
        longterm.remember(alice.id, said)


def test_a_secret_is_refused_as_ever(alice):
    with pytest.raises(SecretRefusedError):
        foresee(alice.id, candidate("My password is hunter2hunter2"))
