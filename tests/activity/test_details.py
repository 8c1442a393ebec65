"""What the log says more of what was done, in the reader's language: the program's words, never an admin's own."""

import pytest

from memoryapp.activity.models import Entry, Tier, Verb
from memoryapp.inspector import activity_presentation as show
from memoryapp.scratchpad.pad import Op
from memoryapp.scratchpad.records import Keeping

SAID = [
    *((Tier.SCRATCHPAD, detail) for detail in (*Op, *Keeping)),
    *(
        (Tier.TRANSCRIPT, f"{name} {state}")
        for name in ("use memory", "save to memory")
        for state in ("on", "off")
    ),
    *(
        (Tier.ACCOUNT, f"{name}: {state}")
        for name in ("use memory", "save to memory")
        for state in ("on", "off")
    ),
    *((Tier.TRANSCRIPT, detail) for detail in ("as the rule says", "for ever", "made temporary")),
]


@pytest.fixture
def loud(monkeypatch):
    """Translations can be told from what is translated."""
    monkeypatch.setattr(show, "gettext", str.upper)


def detail_of(user, tier, detail, verb=Verb.SWITCHED):
    entry = Entry.objects.create(user=user, actor="person", verb=verb, tier=tier, detail=detail)
    (row,) = show.rows(user.id, [entry], is_own=True)
    return row.detail


@pytest.mark.parametrize(("tier", "detail"), SAID)
def test_what_the_program_wrote_is_translated(alice, loud, tier, detail):
    assert detail_of(alice, tier, detail) == detail.replace("_", " ").upper()


def test_an_admins_reason_stays_as_it_was_written(alice, loud):
    assert detail_of(alice, Tier.ACCOUNT, "for ever", Verb.OPENED) == "for ever"


@pytest.mark.parametrize(("detail", "text"), [("1 days", "1 day"), ("30 days", "30 days")])
def test_days_are_counted(alice, detail, text):
    assert detail_of(alice, Tier.TRANSCRIPT, detail, Verb.LIFETIME) == text
