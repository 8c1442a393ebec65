"""How long memories live by their person's word, of one or of a thousand at once."""

from datetime import date, datetime, timedelta
from uuid import uuid4
from zoneinfo import ZoneInfo

import pytest
from django.utils import timezone

from memoryapp.activity.models import Entry
from memoryapp.errors import InvalidInputError, NotFoundError, StaleVersionError
from memoryapp.longterm import forgettings, kinds, lifetimes, queries, refusals
from memoryapp.longterm import operations as longterm
from memoryapp.longterm.lifetimes import GivenBack, LifetimesGoneError, Wish
from memoryapp.longterm.models import Kind, Memory, MemoryVersion
from memoryapp.policies.reconciliation import Outcome
from memoryapp.policies.trust import Origin
from tests.longterm.saying import DAY, NOW, live, remember
from tests.longterm.test_forgettings import many_of

TOMORROW = NOW + DAY


def ticket(user, text="order 77", *, days_ago=20, **values) -> Memory:
    """Of a kind that lives for thirty days."""
    return remember(user, text, kind="ticket", said_at=NOW - days_ago * DAY, **values).memory


def fades_at(memory: Memory) -> datetime | None:
    return queries.get_memory(memory.user_id, memory.id).fades_at


class TestOneByOne:
    def test_extending_starts_the_lifetime_again(self, alice):
        memory = ticket(alice)
        before = fades_at(memory)

        assert lifetimes.extend(alice.id, [memory.id], now=NOW) == 1

        assert fades_at(memory) == before + 20 * DAY

    def test_extending_never_makes_it_older(self, alice):
        memory = ticket(alice)

        lifetimes.extend(alice.id, [memory.id], now=NOW - 25 * DAY)

        assert queries.get_memory(alice.id, memory.id).affirmed_at == NOW - 20 * DAY

    def test_what_does_not_live_longer_by_it_is_not_extended_but_can_be_affirmed(self, alice):
        full, kept, dated = (
            ticket(alice, "order 1", days_ago=0),
            ticket(alice, "order 2"),
            ticket(alice, "order 3"),
        )
        lifetimes.keep(alice.id, [kept.id])
        lifetimes.end_at(alice.id, [dated.id], at=TOMORROW)
        ids = [full.id, kept.id, dated.id]
        Entry.objects.all().delete()

        assert lifetimes.extended_ends(alice.id, ids, now=NOW) == {}
        assert lifetimes.extend(alice.id, ids, now=NOW) == 0
        assert not Entry.objects.exists()
        assert lifetimes.affirm(alice.id, ids, now=NOW) == 3
        assert {what_it_is(memory)[1] for memory in (kept, dated)} == {NOW}

    def test_where_extending_leads_is_known_before(self, alice):
        memory = ticket(alice)
        foreseen = lifetimes.extended_ends(alice.id, [memory.id], now=NOW)

        lifetimes.extend(alice.id, [memory.id], now=NOW)

        assert foreseen == {memory.id: fades_at(memory)}

    def test_kept_is_for_ever_until_it_follows_its_kind_again(self, alice):
        memory = ticket(alice)
        before = fades_at(memory)

        assert (lifetimes.keep(alice.id, [memory.id]), fades_at(memory)) == (1, None)
        assert lifetimes.keep(alice.id, [memory.id]) == 0

        assert (lifetimes.follow_kind(alice.id, [memory.id]), fades_at(memory)) == (1, before)
        assert lifetimes.follow_kind(alice.id, [memory.id]) == 0

    def test_a_day_ends_at_midnight_where_its_person_is(self, alice):
        alice.time_zone = "Asia/Kathmandu"
        alice.save()
        memory = ticket(alice)
        day = timezone.now().astimezone(ZoneInfo("Asia/Kathmandu")).date()

        lifetimes.end_at(alice.id, [memory.id], at=day)

        midnight = datetime.combine(day + DAY, datetime.min.time(), tzinfo=ZoneInfo("Asia/Kathmandu"))
        assert fades_at(memory) == midnight

    def test_a_date_takes_the_place_of_for_ever_and_the_other_way_round(self, alice):
        memory = ticket(alice)
        lifetimes.keep(alice.id, [memory.id])

        lifetimes.end_at(alice.id, [memory.id], at=TOMORROW)
        assert fades_at(memory) == TOMORROW

        lifetimes.keep(alice.id, [memory.id])
        assert queries.get_memory(alice.id, memory.id).expires_at is None

    @pytest.mark.parametrize(
        "at",
        [NOW - DAY, (NOW - 2 * DAY).date(), date.max, datetime(2999, 1, 1), NOW + 40_000 * DAY],  # noqa: DTZ001
    )
    def test_a_date_that_is_over_or_out_of_the_world_is_refused(self, alice, at):
        memory = ticket(alice)

        with pytest.raises(InvalidInputError):
            lifetimes.end_at(alice.id, [memory.id], at=at)

    def test_another_kind_is_a_new_version_and_affirms_it(self, alice):
        memory = ticket(alice)

        assert lifetimes.change_kind(alice.id, [memory.id], kind="event", now=NOW) == 1
        assert lifetimes.change_kind(alice.id, [memory.id], kind="event", now=NOW) == 0

        changed = queries.get_memory(alice.id, memory.id)
        assert (changed.kind.slug, changed.version, changed.affirmed_at) == ("event", 2, NOW)
        newest = queries.versions(changed)[0]
        assert (newest.version, newest.kind_slug, newest.statement) == (2, "event", "order 77")
        with pytest.raises(InvalidInputError):
            lifetimes.change_kind(alice.id, [memory.id], kind="nonsense", now=NOW)

    def test_none_of_it_reaches_what_is_replaced_expired_or_being_forgotten(self, alice):
        replaced = remember(alice, "I live in Lisbon", key="city", said_at=NOW - DAY).memory
        remember(alice, "I live in Porto", key="city")
        expired, forgotten = ticket(alice, "order 1", days_ago=60), ticket(alice, "order 2")
        forgettings.forget(alice.id, [forgotten.id], now=NOW)
        ids = [replaced.id, expired.id, forgotten.id, uuid4()]

        assert [
            lifetimes.extend(alice.id, ids, now=NOW),
            lifetimes.keep(alice.id, ids),
            lifetimes.end_at(alice.id, ids, at=TOMORROW),
            lifetimes.change_kind(alice.id, ids, kind="event", now=NOW),
        ] == [0, 0, 0, 0]


def what_it_is(memory: Memory) -> tuple[object, ...]:
    now = Memory.objects.select_related("kind").get(id=memory.id)
    return now.kind.slug, now.affirmed_at, now.expires_at, now.is_kept


class TestALifetimeTakenBack:
    LATER = {
        "kept for ever": lambda memory: lifetimes.keep(memory.user_id, [memory.id]),
        "until another day": lambda memory: lifetimes.end_at(memory.user_id, [memory.id], at=TOMORROW + DAY),
        "said again": lambda memory: remember(memory.user, memory.statement, kind="ticket"),
    }

    @pytest.mark.parametrize("later", LATER)
    def test_a_later_word_about_one_of_them_stays(self, alice, later):
        settled, other, undo_id = ticket(alice), ticket(alice, "order 78"), uuid4()
        before = what_it_is(other)
        lifetimes.end_at(alice.id, [settled.id, other.id], at=TOMORROW, undo_id=undo_id)
        self.LATER[later](settled)
        word = what_it_is(settled)

        assert lifetimes.undo(alice.id, undo_id, now=timezone.now()) == GivenBack(1, left_alone=1)

        assert (what_it_is(settled), what_it_is(other)) == (word, before)

    def test_one_after_the_other_back_to_the_first(self, alice):
        memory, first, second = ticket(alice), uuid4(), uuid4()
        before = what_it_is(memory)
        lifetimes.end_at(alice.id, [memory.id], at=TOMORROW, undo_id=first)
        lifetimes.keep(alice.id, [memory.id], undo_id=second)

        with pytest.raises(LifetimesGoneError, match="changed since"):
            lifetimes.undo(alice.id, first, now=timezone.now())
        lifetimes.undo(alice.id, second, now=timezone.now())
        lifetimes.undo(alice.id, first, now=timezone.now())

        assert what_it_is(memory) == before


class TestAnotherKindTakenBack:
    def test_each_is_of_the_kind_it_was_and_lives_as_long(self, alice):
        old, figs = ticket(alice), remember(alice, "I like figs", kind="preference").memory
        lifetimes.end_at(alice.id, [figs.id], at=TOMORROW)
        before, undo_id = [what_it_is(old), what_it_is(figs)], uuid4()
        lifetimes.change_kind(alice.id, [old.id, figs.id], kind="event", now=NOW, undo_id=undo_id)

        assert lifetimes.undo(alice.id, undo_id, now=timezone.now()) == GivenBack(2, left_alone=0)

        assert [what_it_is(old), what_it_is(figs)] == before
        versions = (
            MemoryVersion.objects.filter(memory=old).order_by("version").values_list("version", "kind_slug")
        )
        assert list(versions) == [(1, "ticket"), (2, "event"), (3, "ticket")]
        assert Entry.objects.order_by("recorded_at", "id").last().verb == "edited"

    def test_what_was_corrected_since_keeps_its_persons_later_word(self, alice):
        corrected, other, undo_id = ticket(alice), ticket(alice, "order 78"), uuid4()
        lifetimes.change_kind(alice.id, [corrected.id, other.id], kind="event", now=NOW, undo_id=undo_id)
        longterm.edit(alice.id, corrected.id, version=2, now=NOW, kind="decision")

        assert lifetimes.undo(alice.id, undo_id, now=timezone.now()) == GivenBack(1, left_alone=1)

        assert [what_it_is(memory)[0] for memory in (corrected, other)] == ["decision", "ticket"]

    def test_one_kind_after_the_other_back_to_the_first(self, alice):
        memory, first, second = ticket(alice), uuid4(), uuid4()
        before = what_it_is(memory)
        lifetimes.change_kind(alice.id, [memory.id], kind="event", now=NOW, undo_id=first)
        lifetimes.change_kind(alice.id, [memory.id], kind="decision", now=NOW, undo_id=second)

        lifetimes.undo(alice.id, second, now=timezone.now())
        lifetimes.undo(alice.id, first, now=timezone.now())

        assert what_it_is(memory) == before

    def test_nothing_goes_back_into_a_kind_that_is_never_to_be_remembered_since(self, alice):
        memory, undo_id = ticket(alice), uuid4()
        lifetimes.change_kind(alice.id, [memory.id], kind="event", now=NOW, undo_id=undo_id)
        refusals.refuse(alice.id, "ticket")

        with pytest.raises(LifetimesGoneError, match="never to be remembered"):
            lifetimes.undo(alice.id, undo_id, now=timezone.now())

        assert what_it_is(memory)[0] == "event"

    def test_a_lifetime_in_such_a_kind_is_given_back_for_what_was_of_it_all_the_time(self, alice):
        memory, undo_id = ticket(alice), uuid4()
        before = what_it_is(memory)
        lifetimes.keep(alice.id, [memory.id], undo_id=undo_id)
        refusals.refuse(alice.id, "ticket")

        lifetimes.undo(alice.id, undo_id, now=timezone.now())

        assert what_it_is(memory) == before

    def test_what_was_of_a_kind_that_is_deleted_stays_and_is_not_counted(self, alice):
        kinds.add(slug="rumour", label="Rumours", rationale="They pass.")
        rumour, other, undo_id = remember(alice, "It may rain", kind="rumour").memory, ticket(alice), uuid4()
        lifetimes.change_kind(alice.id, [rumour.id, other.id], kind="event", now=NOW, undo_id=undo_id)
        kinds.delete("rumour")

        assert lifetimes.undo(alice.id, undo_id, now=timezone.now()) == GivenBack(1, left_alone=1)

        assert queries.get_memory(alice.id, rumour.id).version == 2
        assert [what_it_is(memory)[0] for memory in (rumour, other)] == ["event", "ticket"]

    def test_nothing_is_left_to_take_back(self, alice):
        memory, undo_id = ticket(alice), uuid4()
        lifetimes.change_kind(alice.id, [memory.id], kind="event", now=NOW, undo_id=undo_id)
        longterm.edit(alice.id, memory.id, version=2, now=NOW, kind="decision")

        with pytest.raises(LifetimesGoneError, match="changed since"):
            lifetimes.undo(alice.id, undo_id, now=timezone.now())

    def test_bob_cannot_take_it_back(self, alice, bob):
        memory, undo_id = ticket(alice), uuid4()
        lifetimes.change_kind(alice.id, [memory.id], kind="event", now=NOW, undo_id=undo_id)

        with pytest.raises(NotFoundError):
            lifetimes.undo(bob.id, undo_id, now=timezone.now())

        assert what_it_is(memory)[0] == "event"


class TestExpired:
    def test_it_is_out_of_every_list_at_once_and_deleted_a_day_later(self, alice):
        memory = ticket(alice, days_ago=60)
        Memory.objects.filter(id=memory.id).update(expires_at=timezone.now() - timedelta(hours=23))
        assert live(alice) == []
        assert [row.id for row in queries.memories(alice.id, status="expired")] == [memory.id]

        assert longterm.delete_faded() == 0
        Memory.objects.filter(id=memory.id).update(expires_at=timezone.now() - timedelta(hours=25))

        assert longterm.delete_faded() == 1

    def test_how_long_is_a_setting_and_none_is_at_once(self, alice, configure):
        configure(STRATA_EXPIRED_HOURS="0")
        memory = ticket(alice)
        Memory.objects.filter(id=memory.id).update(expires_at=timezone.now() - timedelta(seconds=1))

        assert longterm.delete_faded() == 1

    @pytest.mark.parametrize("is_dated", [True, False])
    def test_it_can_be_brought_back_which_affirms_it(self, alice, is_dated):
        memory = ticket(alice, days_ago=20 if is_dated else 60)
        if is_dated:
            Memory.objects.filter(id=memory.id).update(expires_at=NOW - DAY)

        assert lifetimes.bring_back_expired(alice.id, [memory.id, ticket(alice, "order 2").id], now=NOW) == 1

        assert live(alice) == ["order 2", "order 77"]
        assert queries.get_memory(alice.id, memory.id).affirmed_at == NOW

    def test_not_beside_a_newer_answer_to_the_same_question(self, alice):
        old = remember(alice, "I live in Lisbon", said_at=NOW - 400 * DAY).memory
        Memory.objects.filter(id=old.id).update(key="")
        remember(alice, "I live in Porto")

        assert Memory.objects.count() == 2
        assert lifetimes.bring_back_expired(alice.id, [old.id], now=NOW) == 0
        assert live(alice) == ["I live in Porto"]

    def test_a_changed_kind_lets_it_expire_and_it_is_there_for_a_day(self, alice):
        ticket(alice)
        Kind.objects.filter(slug="ticket").update(ttl_days=19)

        assert queries.memories(alice.id, status="expired").count() == 1


class TestConfirmingMany:
    def test_each_is_settled_as_if_it_were_the_only_one(self, alice):
        remember(alice, "I live in Lisbon", key="city", said_at=NOW - DAY)
        city = remember(alice, "I live in Porto", key="city", origin=Origin.UNTRUSTED).memory
        figs = remember(alice, "I like figs", origin=Origin.UNTRUSTED).memory
        stale = remember(alice, "I own a boat", origin=Origin.UNTRUSTED).memory
        known = remember(alice, "I keep bees").memory
        versions = {city.id: 1, figs.id: 1, stale.id: 7, known.id: 1, uuid4(): 1}

        assert lifetimes.confirm_many(alice.id, versions, now=NOW) == 2

        assert live(alice) == ["I keep bees", "I like figs", "I live in Porto"]
        assert [row.id for row in queries.memories(alice.id, status="waiting")] == [stale.id]
        assert list(Entry.objects.filter(verb="confirmed").values_list("rows", flat=True)) == [2]

    def test_of_two_that_say_the_same_one_is_remembered(self, alice):
        first = remember(alice, "I like figs", origin=Origin.UNTRUSTED).memory
        second = remember(alice, "I like plums", origin=Origin.UNTRUSTED).memory
        longterm.edit(alice.id, second.id, version=1, now=NOW, statement="I like figs")

        assert lifetimes.confirm_many(alice.id, {first.id: 1, second.id: 2}, now=NOW) == 1

        assert live(alice) == ["I like figs"]


class TestOneAsAProgramSends:
    @pytest.mark.parametrize(
        ("wish", "ends"),
        [
            (Wish(is_kept=True), None),
            (Wish(expires_at=TOMORROW), TOMORROW),
            (Wish(affirms=True), "30 days"),
        ],
    )
    def test_it_lives_as_wished_in_the_same_version(self, alice, wish, ends):
        memory = ticket(alice)
        before = fades_at(memory)

        given = lifetimes.give(alice.id, memory.id, wish, version=1, now=NOW)

        assert given.fades_at == (before + 20 * DAY if ends == "30 days" else ends)
        assert (given.version, queries.versions(given).count()) == (1, 1)

    def test_no_end_is_that_of_its_kind(self, alice):
        memory = ticket(alice)
        before = fades_at(memory)
        lifetimes.end_at(alice.id, [memory.id], at=TOMORROW)

        given = lifetimes.give(alice.id, memory.id, Wish(has_no_end=True), version=1, now=NOW)

        assert given.fades_at == before

    def test_what_changed_meanwhile_what_was_replaced_and_others_are_refused(self, alice, bob):
        former = remember(alice, "I live in Lisbon", key="city", said_at=NOW - DAY).memory
        remember(alice, "I live in Porto", key="city")
        theirs = ticket(bob)

        for memory, version, error in (
            (ticket(alice), 2, StaleVersionError),
            (former, 1, InvalidInputError),
            (theirs, 1, NotFoundError),
        ):
            with pytest.raises(error):
                lifetimes.give(alice.id, memory.id, Wish(is_kept=True), version=version, now=NOW)

    @pytest.mark.parametrize("wish", [Wish(expires_at=NOW - DAY), Wish(is_kept=True, expires_at=TOMORROW)])
    def test_an_end_that_is_over_and_an_end_of_for_ever_are_refused(self, wish):
        with pytest.raises(InvalidInputError):
            lifetimes.checked(wish, now=NOW)


UNDO_ID = uuid4()
BULK = {
    "extend": lambda user, ids: lifetimes.extend(user.id, ids, now=NOW),
    "keep": lambda user, ids: lifetimes.keep(user.id, ids),
    "end": lambda user, ids: lifetimes.end_at(user.id, ids, at=TOMORROW),
    "follow": lambda user, ids: lifetimes.follow_kind(user.id, ids),
    "change kind": lambda user, ids: lifetimes.change_kind(
        user.id, ids, kind="session", now=NOW, undo_id=UNDO_ID
    ),
    "take back": lambda user, _: lifetimes.undo(user.id, UNDO_ID, now=timezone.now()).count,
}


@pytest.mark.parametrize("name", [name for name in BULK if name != "take back"])
def test_bob_changes_nothing_of_alice(alice, bob, name):
    memory = ticket(alice)
    before = list(Memory.objects.values())

    assert BULK[name](bob, [memory.id]) == 0

    assert list(Memory.objects.values()) == before


def test_a_thousand_take_as_many_statements_as_three_and_one_entry(alice, django_assert_num_queries):
    few = [remember(alice, f"Fact {number} of few").memory.id for number in range(3)]
    many = [memory.id for memory in many_of(alice, 1_000)]
    Memory.objects.update(is_kept=True, affirmed_at=NOW - 9 * DAY)
    Entry.objects.all().delete()

    taken = []
    for ids in (few, many):
        counts = []
        for name in ("follow", "extend", "end", "keep", "change kind", "take back"):
            with django_assert_num_queries(100, exact=False) as counted:
                assert BULK[name](alice, ids) == len(ids)
            counts.append(len(counted))
        taken.append(counts)

    assert taken[0][:-1] == taken[1][:-1]
    assert taken[1][-1] - taken[0][-1] == 1_000 // lifetimes.BATCH - 1
    noted = Entry.objects.filter(rows=1_000).order_by("recorded_at", "id")
    assert list(noted.values_list("verb", flat=True)) == ["lifetime"] * 4 + ["edited"] * 2
    assert MemoryVersion.objects.filter(version=3).count() == 1_003


def test_one_is_noted_as_itself(alice):
    memory = ticket(alice)
    Entry.objects.all().delete()

    lifetimes.keep(alice.id, [memory.id])
    lifetimes.keep(alice.id, [memory.id])

    assert list(Entry.objects.values_list("verb", "subject_id", "rows")) == [("lifetime", memory.id, 1)]


def test_what_is_said_again_is_known_still_after_it_was_brought_back(alice):
    memory = ticket(alice, days_ago=60)
    lifetimes.bring_back_expired(alice.id, [memory.id], now=NOW)

    assert remember(alice, "order 77", kind="ticket").outcome == Outcome.REINFORCED
