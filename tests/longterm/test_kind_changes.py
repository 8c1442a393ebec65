"""Rules of kinds as staff change them: at once or on a day, within bounds, after a look, and taken back."""

from datetime import timedelta

import pytest
from django.utils import timezone

from memoryapp.errors import InvalidInputError, NotFoundError
from memoryapp.lifecycle.tasks import sweep
from memoryapp.longterm import experiences, kind_changes, kind_effects, kinds, queries
from memoryapp.longterm import operations as longterm
from memoryapp.longterm.experiences import Lesson
from memoryapp.longterm.kind_changes import (
    ChangeFollowedError,
    ChangeToComeError,
    ChangeUndoneError,
    KindChangedError,
)
from memoryapp.longterm.kinds import Fading, KindInUseError
from memoryapp.longterm.models import Experience, Kind, KindChange, Memory
from memoryapp.policies.trust import Origin
from tests.longterm.saying import DAY, NOW, live, remember


def change(slug: str = "event", *, by=None, applies_at=None, seen=None, **values) -> KindChange | None:
    return kind_changes.change(
        slug, values, changed_by=by.id if by else None, now=timezone.now(), applies_at=applies_at, seen=seen
    )


def long_ago(made: KindChange) -> None:
    """As if it had been made before what it hid could still be brought back; only a test may."""
    KindChange.objects.filter(id=made.id).update(applied_at=timezone.now() - timedelta(hours=25))


def undo(made: KindChange) -> KindChange:
    return kind_changes.undo(made.id, by=None, now=timezone.now())


def test_a_shorter_lifetime_hides_at_once_what_is_older(alice):
    remember(alice, "The exam is over", said_at=NOW - 40 * DAY)

    change(ttl_days=30, rationale="A month is enough.")

    assert live(alice) == []
    assert queries.get_kind("event").rationale == "A month is enough."


def test_a_change_keeps_who_when_from_what_to_what_and_what_was_foreseen(alice, carol):
    for age in (40, 26):
        remember(alice, f"It was {age} days ago", said_at=NOW - age * DAY)

    made = change(by=carol, ttl_days=30, rationale="A month is enough.", shape="free")

    assert made is not None
    assert made.changed_by == carol
    assert made.before == {"ttl_days": 180, "rationale": made.before["rationale"]}
    assert made.after == {"ttl_days": 30, "rationale": "A month is enough."}
    assert [(row["days"], row["rows"]) for row in made.preview] == [(0, 1), (7, 2), (30, 2)]
    assert made.hidden_rows == 1
    assert list(kind_changes.history()) == [made]


def test_what_is_so_already_is_no_change(db):
    assert change(ttl_days=180) is None
    assert not KindChange.objects.exists()


@pytest.mark.parametrize(
    ("values", "why"),
    [
        ({"ttl_days": 0}, "ttl_days"),
        ({"ttl_days": -1}, "ttl_days"),
        ({"ttl_days": 36_501}, "ttl_days"),
        ({"half_life_days": 0}, "half_life_days"),
        ({"min_confidence": 1.5}, "kind_min_confidence_range"),
        ({"label": ""}, "label"),
        ({"rationale": ""}, "rationale"),
        ({"shape": "round"}, "shape"),
    ],
)
def test_what_a_kind_cannot_be_is_refused_and_changes_nothing(db, values, why):
    before = Kind.objects.filter(slug="event").values().get()

    with pytest.raises(InvalidInputError, match=why):
        change(**values)
    with pytest.raises(InvalidInputError, match=why):
        change(applies_at=timezone.now() + DAY, **values)

    assert Kind.objects.filter(slug="event").values().get() == before
    assert not KindChange.objects.exists()


def test_who_saw_another_rule_changes_nothing_and_learns_both(db):
    seen = kind_changes.rule(kinds.get_kind("event"))
    change(ttl_days=90)

    with pytest.raises(KindChangedError) as clash:
        change(seen=seen, half_life_days=5)

    assert clash.value.details == {"seen": {"ttl_days": 180}, "present": {"ttl_days": 90}}
    assert kinds.get_kind("event").half_life_days != 5


def test_undoing_brings_back_what_it_hid_although_sweeps_ran(alice):
    remember(alice, "The exam is over", said_at=NOW - 400 * DAY, kind="preference")
    remember(alice, "The exam is near", said_at=NOW - 100 * DAY)
    made = change(ttl_days=30)
    assert made is not None
    sweep()
    assert live(alice) == []

    undo(made)
    sweep()

    assert live(alice) == ["The exam is near"]
    assert queries.get_kind("event").ttl_days == 180


def test_undoing_an_experiences_lifetime_brings_them_back_too(alice):
    lesson = Lesson(goal="Ship it", tools=("recall",), worked="It did", avoid="", origin=Origin.USER_TYPED)
    learned = experiences.record(alice.id, lesson, run_id=None, epoch_at_start=alice.memory_epoch, now=NOW)
    assert learned
    Experience.objects.update(affirmed_at=NOW - 100 * DAY)
    made = change("experience", ttl_days=30)
    assert made is not None
    assert made.hidden_rows == 1
    sweep()

    undo(made)

    assert Experience.objects.unfaded().count() == 1


def test_once_the_sweep_has_deleted_by_it_undoing_restores_the_rule_alone(alice):
    remember(alice, "The exam is over", said_at=NOW - 100 * DAY)
    made = change(ttl_days=30)
    assert made is not None
    long_ago(made)

    sweep()
    undone = undo(made)

    assert undone.deleted_rows == 1
    assert queries.get_kind("event").ttl_days == 180
    assert live(alice) == []


def test_what_would_have_gone_without_it_is_not_put_down_to_it(alice):
    remember(alice, "Long over", said_at=NOW - 300 * DAY)
    made = change(ttl_days=30)
    assert made is not None
    long_ago(made)

    assert longterm.delete_faded() == 1

    assert KindChange.objects.get().deleted_rows == 0


@pytest.mark.parametrize("again", [1, 2])
def test_what_was_taken_back_is_not_taken_back_again(db, again):
    made = change(ttl_days=30)
    assert made is not None
    undo(made)

    for _ in range(again):
        with pytest.raises(ChangeUndoneError):
            undo(made)


def test_what_was_changed_again_since_is_not_overwritten_by_an_undo(db):
    first, second = change(ttl_days=30), change(ttl_days=60)
    assert first is not None
    assert second is not None

    with pytest.raises(ChangeFollowedError) as refused:
        undo(first)
    assert refused.value.details == {"newest": str(second.id)}
    undo(second)
    undo(first)

    assert queries.get_kind("event").ttl_days == 180


def test_of_equal_changes_the_newest_alone_can_be_undone(db):
    made = [change(ttl_days=days) for days in (30, 180, 30)]
    first, _, newest = made
    assert first is not None

    with pytest.raises(ChangeFollowedError):
        undo(first)

    assert kind_changes.undoable() == kind_changes.undoable(queries.get_kind("event")) == [newest]
    assert queries.get_kind("event").ttl_days == 30


def test_what_is_to_come_is_what_can_be_undone_and_of_each_kind_the_newest(db):
    change(half_life_days=7)
    waiting = change(ttl_days=30, applies_at=timezone.now() + DAY)
    of_another, _ = change("preference", ttl_days=60), change("preference", half_life_days=9)
    newest = KindChange.objects.latest("id")
    assert waiting is not None
    assert of_another is not None

    assert {made.id for made in kind_changes.undoable()} == {waiting.id, newest.id}
    undo(newest)
    undo(waiting)
    assert of_another in kind_changes.undoable()


def test_a_rule_that_is_no_more_what_the_change_made_it_is_not_overwritten(db):
    made = change(ttl_days=30)
    assert made is not None
    Kind.objects.filter(slug="event").update(ttl_days=31)

    with pytest.raises(KindChangedError):
        undo(made)

    assert kind_changes.undoable() == []


def test_undoing_a_longer_lifetime_hides_what_it_kept_and_says_how_much_until_a_sweep_may_delete_it(alice):
    remember(alice, "The exam is over", said_at=NOW - 200 * DAY)
    remember(alice, "The exam is near", said_at=NOW - 10 * DAY)
    made = change(ttl_days=400)
    assert made is not None

    undone = undo(made)
    sweep()

    assert live(alice) == ["The exam is near"]
    assert (undone.hidden_rows, undone.undo_hidden_rows) == (0, 1)
    change(ttl_days=400)
    assert sorted(live(alice)) == ["The exam is near", "The exam is over"]


def test_a_change_to_come_acts_on_its_day_by_the_sweep_and_once(alice):
    remember(alice, "The exam is over", said_at=NOW - 40 * DAY)
    made = change(ttl_days=30, applies_at=timezone.now() + DAY)
    assert made is not None
    sweep()
    assert live(alice) == ["The exam is over"]
    KindChange.objects.update(applies_at=timezone.now() - timedelta(minutes=1))

    sweep()

    assert live(alice) == []
    made.refresh_from_db()
    assert made.applied_at
    assert made.hidden_rows == 1
    assert kind_changes.apply_due(timezone.now() + 9 * DAY) == 0


def test_one_that_was_withdrawn_never_acts(db):
    made = change(ttl_days=30, applies_at=timezone.now() + DAY)
    assert made is not None

    undo(made)

    assert kind_changes.apply_due(timezone.now() + 9 * DAY) == 0
    assert queries.get_kind("event").ttl_days == 180


def test_while_one_is_to_come_nothing_else_changes_the_rule(db):
    applied = change(half_life_days=7)
    assert applied is not None
    change(ttl_days=30, applies_at=timezone.now() + DAY)

    for act in (lambda: change(ttl_days=60), lambda: undo(applied)):
        with pytest.raises(ChangeToComeError):
            act()

    assert change("preference", ttl_days=60) is not None


@pytest.mark.parametrize("ahead", [timedelta(0), -DAY, 400 * DAY])
def test_the_day_of_a_change_lies_ahead_within_a_year(db, ahead):
    with pytest.raises(InvalidInputError, match="twelve months"):
        change(ttl_days=30, applies_at=timezone.now() + ahead)


def test_a_new_kind_can_be_used_and_deleted_while_nothing_is_of_it(alice):
    kinds.add(slug="pet", label="Pets", rationale="They are family.")
    memory = remember(alice, "My cat is Miso", kind="pet").memory

    with pytest.raises(KindInUseError, match="1 memory") as used:
        kinds.delete("pet")
    memory.delete()
    kinds.delete("pet")

    assert used.value.details == {"memories": 1}
    assert not Kind.objects.filter(slug="pet").exists()


@pytest.mark.parametrize("slug", ["experience", "scratchpad"])
def test_the_rules_that_the_program_needs_stay(db, slug):
    with pytest.raises(InvalidInputError, match="need their rule"):
        kinds.delete(slug)


def test_a_slug_is_taken_once(db):
    with pytest.raises(InvalidInputError, match="slug"):
        kinds.add(slug="event", label="Again", rationale="No.")


@pytest.mark.parametrize("act", [kinds.delete, change, lambda slug: kinds.preview(slug, ttl_days=1)])
def test_an_unknown_kind_is_not_found(db, act):
    with pytest.raises(NotFoundError):
        act("nonsense")


def test_a_preview_counts_rows_and_people_now_in_a_week_and_in_a_month(alice, bob):
    for person, age in ((alice, 100), (alice, 50), (alice, 40), (bob, 2)):
        remember(person, f"It was {age} days ago", said_at=NOW - age * DAY)
    remember(alice, "Kept anyway", said_at=NOW - 100 * DAY, kind="identity")

    assert kinds.preview("event", ttl_days=45) == [
        Fading(days=0, rows=2, users=1, kept_rows=0),
        Fading(days=7, rows=3, users=1, kept_rows=0),
        Fading(days=30, rows=3, users=1, kept_rows=0),
    ]
    assert queries.get_kind("event").ttl_days == 180


def test_a_preview_tells_what_waits_and_former_values_from_what_is_in_use(alice):
    for status in ("active", "pending", "conflict", "superseded"):
        memory = remember(alice, f"It is {status}", said_at=NOW - 50 * DAY).memory
        Memory.objects.filter(id=memory.id).update(status=status)

    assert kinds.preview("event", ttl_days=30)[0] == Fading(
        days=0, rows=4, users=1, kept_rows=0, waiting=2, former=1
    )


def test_a_preview_of_a_longer_lifetime_counts_what_stays(alice):
    remember(alice, "Nearly over", said_at=NOW - 170 * DAY)

    counted = [(fading.rows, fading.kept_rows) for fading in kinds.preview("event", ttl_days=None)]

    assert counted == [(0, 0), (0, 0), (0, 1)]


def test_what_its_person_keeps_is_in_no_preview(alice):
    memory = remember(alice, "Kept", said_at=NOW - 100 * DAY).memory
    memory.is_kept = True
    memory.save()

    assert {fading.rows for fading in kinds.preview("event", ttl_days=1)} == {0}


def test_experiences_have_a_preview_and_records_of_runs_do_not(db):
    assert {fading.rows for fading in kinds.preview("experience", ttl_days=1)} == {0}
    with pytest.raises(InvalidInputError, match="nothing to preview"):
        kinds.preview("scratchpad", ttl_days=2)


def test_ages_are_counted_in_bins_as_wide_as_the_oldest_needs(alice):
    for age in (0, 1, 100, 239):
        remember(alice, f"It was {age} days ago", said_at=NOW - age * DAY)

    ages = kind_effects.ages(kinds.get_kind("event"), limits=(180, 30), now=NOW)

    assert ages.width_days == 10
    assert [(at, rows) for at, rows in enumerate(ages.counts) if rows] == [(0, 2), (10, 1), (23, 1)]
    assert len(ages.counts) == 24
