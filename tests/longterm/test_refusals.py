"""What a person does not want remembered: a kind, or for now anything."""

import pytest

from memoryapp.activity.models import Entry
from memoryapp.errors import InvalidInputError
from memoryapp.longterm import lifetimes, refusals, withdrawal
from memoryapp.longterm import operations as longterm
from memoryapp.longterm.models import KindRefusal, Memory
from memoryapp.longterm.operations import KindRefusedError, SavingPausedError
from memoryapp.policies.reconciliation import Outcome
from memoryapp.policies.trust import Origin
from tests.longterm.saying import DAY, NOW, live, message, remember, remember_from

CHANNELS = Memory.Channel.values


@pytest.mark.parametrize("channel", CHANNELS)
def test_a_refused_kind_is_kept_on_no_path_and_says_where_to_allow_it(alice, bob, channel):
    refusals.refuse(alice.id, "event")

    with pytest.raises(KindRefusedError, match="Memory page") as refused:
        remember(alice, "I moved house", channel=channel)

    assert refused.value.details == {"kind": "event"}
    assert live(alice) == []
    assert remember(bob, "I moved house", channel=channel).outcome == Outcome.ADDED


def test_other_kinds_and_what_is_remembered_already_stay(alice):
    remember(alice, "I moved house")

    refusals.refuse(alice.id, "event")
    remember(alice, "I like figs", kind="preference")

    assert live(alice) == ["I like figs", "I moved house"]


def test_allowed_again_it_is_remembered(alice, bob):
    refusals.refuse(alice.id, "event")
    refusals.refuse(alice.id, "event")
    assert (refusals.refused(alice.id), refusals.refused(bob.id)) == ({"event"}, set())

    refusals.allow(alice.id, "event")
    refusals.allow(alice.id, "event")

    assert refusals.refused(alice.id) == set()
    assert remember(alice, "I moved house").outcome == Outcome.ADDED
    noted = Entry.objects.filter(verb="switched").order_by("recorded_at", "id")
    assert list(noted.values_list("detail", flat=True)) == ["never remember event", "remember event again"]


def test_a_kind_that_does_not_exist_is_named(alice):
    for act in (refusals.refuse, refusals.allow):
        with pytest.raises(InvalidInputError, match="nonsense"):
            act(alice.id, "nonsense")
    assert not KindRefusal.objects.exists()


@pytest.mark.parametrize("channel", CHANNELS)
def test_while_saving_is_paused_only_their_own_hand_adds(alice, channel):
    alice.save_memory = False
    alice.save()

    if channel in {"inspector", "import"}:
        assert remember(alice, "I moved house", channel=channel).outcome == Outcome.ADDED
    else:
        with pytest.raises(SavingPausedError, match=r"Saving to memory is paused\."):
            remember(alice, "I moved house", channel=channel)


def test_what_is_known_can_still_be_taken_back_while_saving_is_paused(alice):

    first, second = message(alice, "I moved house"), message(alice, "I moved house")
    memory = remember_from(alice, first, "I moved house", said_at=NOW - DAY).memory
    remember_from(alice, second, "I moved house", origin=Origin.MODEL_INFERRED)
    refusals.refuse(alice.id, "event")
    alice.refresh_from_db()
    alice.save_memory = False
    alice.save()

    withdrawal.withdraw(alice.id, memory.id, source_message_id=first.message_id, now=NOW)

    assert live(alice) == ["I moved house"]


def test_a_correction_of_what_is_known_is_not_new(alice):
    memory = remember(alice, "I moved house").memory
    refusals.refuse(alice.id, "event")

    longterm.edit(alice.id, memory.id, version=1, now=NOW, statement="I moved to Porto")

    assert live(alice) == ["I moved to Porto"]


BY_PROGRAM = Memory.Channel.API


def test_while_saving_is_paused_a_program_cannot_say_other_words_in_place_of_what_is_kept(alice):
    memory = remember(alice, "I like figs", kind="preference").memory
    type(alice).objects.filter(id=alice.id).update(save_memory=False)

    for other in ({"statement": "I moved to Porto"}, {"kind": "event"}):
        with pytest.raises(SavingPausedError):
            longterm.edit(alice.id, memory.id, version=1, now=NOW, channel=BY_PROGRAM, **other)
    longterm.edit(alice.id, memory.id, version=1, now=NOW, channel=BY_PROGRAM, confidence=0.5)
    longterm.edit(alice.id, memory.id, version=2, now=NOW, statement="I like dates")

    assert live(alice) == ["I like dates"]


def test_a_program_cannot_bring_a_refused_kind_in_by_a_correction(alice):
    kept = remember(alice, "I moved house").memory
    other = remember(alice, "I like figs", kind="preference").memory
    refusals.refuse(alice.id, "event")

    with pytest.raises(KindRefusedError):
        longterm.edit(alice.id, other.id, version=1, now=NOW, channel=BY_PROGRAM, kind="event")
    with pytest.raises(KindRefusedError):
        longterm.edit(alice.id, kept.id, version=1, now=NOW, channel=BY_PROGRAM, statement="I moved away")

    assert sorted(live(alice)) == ["I like figs", "I moved house"]


def test_by_hand_what_is_kept_of_a_refused_kind_is_corrected_and_nothing_is_moved_to_it(alice):
    kept = remember(alice, "I moved house").memory
    other = remember(alice, "I like figs", kind="preference").memory
    refusals.refuse(alice.id, "event")

    longterm.edit(alice.id, kept.id, version=1, now=NOW, statement="I moved away")
    with pytest.raises(KindRefusedError):
        longterm.edit(alice.id, other.id, version=1, now=NOW, kind="event")

    assert sorted(live(alice)) == ["I like figs", "I moved away"]


def test_many_at_once_are_moved_to_no_refused_kind_either(alice):
    figs = remember(alice, "I like figs", kind="preference").memory
    refusals.refuse(alice.id, "event")

    with pytest.raises(KindRefusedError, match="Memory page"):
        lifetimes.change_kind(alice.id, [figs.id], kind="event", now=NOW)

    assert Memory.objects.get(id=figs.id).kind.slug == "preference"
