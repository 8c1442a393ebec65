"""Another rule for a kind: staff look at what it does, make it at once or from a day on, and take it back."""

import re
from datetime import datetime, time, timedelta
from zoneinfo import ZoneInfo

import pytest
from django.urls import reverse
from django.utils import timezone

from memoryapp.lifecycle.tasks import sweep
from memoryapp.longterm import kind_changes
from memoryapp.longterm.models import Experience, Kind, KindChange, Memory
from memoryapp.scratchpad.models import Run
from memoryapp.transcript import conversations
from tests.inspector.reading import words_of
from tests.inspector.ruling import aged, applied, page_of, rule, seen, shown
from tests.inspector.test_experiences import learn
from tests.longterm.saying import live
from tests.world import finished_turn


def test_what_another_lifetime_does_is_shown_before_it_is_done(staff, alice, bob):
    aged(alice, "I like figs", days=40)
    aged(bob, "I like dates", days=26)

    response = shown(staff, ttl_days=30, rationale="Tastes change.")

    fading = [row.fading for row in response.context["effects"].table]
    assert [(row.days, row.rows, row.users) for row in fading] == [(0, 1, 1), (7, 2, 2), (30, 2, 2)]
    assert Kind.objects.get(slug="preference").ttl_days == 365
    assert "Change it now: 1 memory of 1 person goes" in words_of(response)
    assert "Tastes change." in words_of(response)
    assert live(alice) == ["I like figs"]


def test_a_longer_lifetime_says_the_first_new_and_former_day_and_what_ends_later(staff, alice):
    aged(alice, "I like figs", days=0)
    Kind.objects.filter(slug="preference").update(ttl_days=30)

    page = shown(staff, ttl_days=90, rationale="A season.")

    new, former = (timezone.localdate() + timedelta(days=days) for days in (90, 30))
    said = words_of(page)
    assert (
        f"1 memory of 1 person will expire on {new:%-d %B %Y} instead of {former:%-d %B %Y}; "
        "nothing disappears now."
    ) in said
    assert [(row.fading.days, row.fading.later) for row in page.context["effects"].table] == [
        (0, 1),
        (7, 1),
        (30, 1),
        (90, 1),
    ]
    assert "Kept longer still there, with a later end than now" in said
    assert "Memories that go" not in said
    assert "brings all of them back" not in said
    assert "last said or extended" not in said


@pytest.mark.parametrize(
    ("before", "after", "said"),
    [
        (30, "", "will be kept for ever instead of expiring on {former}; nothing"),
        (None, 30, "will expire on {former} instead of being kept for ever; nothing"),
    ],
)
def test_for_ever_has_no_day_in_the_sentence(staff, alice, before, after, said):
    aged(alice, "I like figs", days=0)
    Kind.objects.filter(slug="preference").update(ttl_days=before)

    page = shown(staff, ttl_days=after, rationale="A season.")

    day = timezone.localdate() + timedelta(days=30)
    assert said.format(former=f"{day:%-d %B %Y}") in words_of(page)


@pytest.mark.parametrize(
    ("on_day", "said"),
    [
        (False, "1 memory that has expired comes back into use now; nothing disappears now."),
        (True, "1 memory that has expired by then comes back into use; nothing disappears then."),
    ],
)
def test_a_longer_lifetime_says_what_comes_back_and_keeps_it_out_of_the_dates(staff, alice, on_day, said):
    Kind.objects.filter(slug="preference").update(ttl_days=30)
    aged(alice, "I like figs", days=31)
    day = timezone.localdate() + timedelta(days=1)
    aged(alice, "I like plums", days=0)
    values = {"applies_on": day.isoformat()} if on_day else {}
    if on_day:
        Memory.objects.filter(statement="I like figs").update(affirmed_at=timezone.now() - timedelta(days=30))

    page = words_of(shown(staff, ttl_days=90, rationale="A season.", **values))

    new, former = (timezone.localdate() + timedelta(days=days) for days in (90, 30))
    moved = f"1 memory of 1 person will expire on {new:%-d %B %Y} instead of {former:%-d %B %Y}"
    assert f"{moved}; {said}" in page


def test_experiences_are_called_so(staff, alice):
    learn(alice, "Ship it")
    Experience.objects.update(affirmed_at=timezone.now() - timedelta(days=40))

    moved = words_of(shown(staff, "experience", ttl_days=60, rationale="A season."))
    gone = words_of(applied(staff, "experience", ttl_days=30, rationale="A season."))

    assert "1 experience of 1 person will expire on" in moved
    assert "1 experience hidden: until" in gone
    assert "Undo: bring 1 experience back" in gone


def test_of_records_the_sentence_says_which_day_moves(staff, alice):
    Kind.objects.filter(slug="scratchpad").update(ttl_days=30)
    conversation = conversations.start_conversation(alice, now=timezone.now())
    finished_turn(alice, conversation.id, text="Go", reply="Gone")

    longer = words_of(shown(staff, "scratchpad", ttl_days=60, rationale="A season."))
    page = shown(staff, "scratchpad", ttl_days=7, rationale="A week.")
    Run.objects.update(finished_at=timezone.now() - timedelta(days=40))
    back = words_of(shown(staff, "scratchpad", ttl_days=60, rationale="A season."))

    week, month, later = (timezone.localdate() + timedelta(days=days) for days in (7, 30, 60))
    said = "1 record of 1 person will expire on {after:%-d %B %Y} instead of {before:%-d %B %Y}; nothing"
    assert said.format(after=later, before=month) in longer
    assert said.format(after=week, before=month) in words_of(page)
    assert (f"End of {week:%-d %B %Y}", 1) in [
        (row.when, row.fading.rows) for row in page.context["effects"].table
    ]
    assert "1 record that would be deleted is kept; nothing disappears now." in back


def test_a_shorter_lifetime_says_what_disappears_and_until_when_it_can_be_undone(staff, alice, bob):
    for user, days in ((alice, 40), (alice, 41), (bob, 42)):
        aged(user, f"It was {days} days ago", days=days)

    said = words_of(shown(staff, ttl_days=30, rationale="Tastes change."))

    day = timezone.localdate() + timedelta(days=1)
    assert f"3 memories of 2 people disappear when the change is made; until {day:%-d %B} " in said
    assert "Undoing it within 24 hours brings all of them back" in said
    assert "last said or extended 42 days ago" in said


def test_a_shorter_lifetime_that_takes_nothing_yet_shows_the_first_day_on_which_it_does(staff, alice, bob):
    for user, days in ((alice, 0), (alice, 2), (bob, 1)):
        aged(user, f"It was {days} days ago", days=days)

    page = shown(staff, ttl_days=30, rationale="Tastes change.")

    today = timezone.localdate()
    first, former, week, month = (today + timedelta(days=days) for days in (28, 363, 7, 30))
    said = words_of(page)
    assert (
        f"3 memories of 2 people will begin to expire on {first:%-d %B %Y} instead of {former:%-d %B %Y}; "
        "nothing disappears now."
    ) in said
    assert [(row.when, row.fading.rows) for row in page.context["effects"].table] == [
        ("Now", 0),
        (f"In 7 days · {week:%-d %B %Y}", 0),
        (f"End of {first:%-d %B %Y}", 1),
        (f"In 30 days · {month:%-d %B %Y}", 2),
    ]
    assert "Memories that go that would otherwise still be there" in said
    assert "Kept longer" not in said
    assert "at the earliest" not in said


def test_a_change_to_come_names_the_dates_from_its_day_on(staff, alice):
    aged(alice, "I like figs", days=0)
    day = timezone.localdate() + timedelta(days=9)

    page = shown(staff, ttl_days=30, rationale="Tastes change.", applies_on=day.isoformat())

    week, month = (day + timedelta(days=days) for days in (7, 30))
    first = timezone.localdate() + timedelta(days=30)
    assert [(row.when, row.fading.rows) for row in page.context["effects"].table] == [
        (f"On {day:%-d %B %Y}", 0),
        (f"7 days after · {week:%-d %B %Y}", 0),
        (f"End of {first:%-d %B %Y}", 1),
        (f"30 days after · {month:%-d %B %Y}", 1),
    ]


def test_of_nothing_nothing_disappears(staff):
    said = words_of(shown(staff, ttl_days=30, rationale="Tastes change."))

    assert "Nothing disappears now." in said
    assert "In 30 days ·" not in said


def test_where_each_has_a_date_of_its_own_there_is_no_table_of_zeros(staff, alice):
    aged(alice, "I like figs", days=3)
    aged(alice, "I like plums", days=3)
    Memory.objects.update(expires_at=timezone.now() + timedelta(days=3))

    said = words_of(shown(staff, ttl_days=30, rationale="Tastes change."))

    assert "Nothing disappears now. Not touched: 2 with a date of their own." in said


def test_what_is_looked_at_has_one_title_for_the_lifetime(staff, alice):
    aged(alice, "I like figs", days=3)

    page = shown(staff, ttl_days=30, rationale="Tastes change.").content.decode()

    assert re.findall(r"<(dt|h3)>Lifetime</", page) == ["dt"]


@pytest.mark.parametrize(
    ("values", "is_said"),
    [
        ({"ttl_days": 30, "half_life_days": 31}, True),
        ({"ttl_days": 30, "half_life_days": 30}, False),
        ({"ttl_days": "", "half_life_days": 400}, False),
        ({"ttl_days": 30, "half_life_days": ""}, False),
    ],
)
def test_a_half_life_that_no_memory_reaches_is_said_and_not_refused(staff, values, is_said):
    page = shown(staff, **values, rationale="Tastes change.")

    said = "The half-life (31 days) is longer than the lifetime (30 days)"
    assert page.status_code == 200
    assert (said in words_of(page)) == is_said
    assert ("The half-life (" in words_of(page)) == is_said


def test_the_label_of_the_reason_says_when_it_is_needed(staff):
    said = words_of(staff.get(page_of("preference")))

    assert "Why so (needed for a new lifetime)" in said
    assert "Left empty, the reason so far stays." in said


def test_a_change_that_hid_nothing_threatens_with_no_deletion(staff, alice):
    aged(alice, "I like figs", days=3)
    applied(staff, ttl_days=30, rationale="Tastes change.")

    without = words_of(staff.get(page_of("preference")))
    Memory.objects.update(affirmed_at=timezone.now() - timedelta(days=40))
    hidden = words_of(staff.get(page_of("preference")))

    assert "deleted for good" not in without
    assert "What it hid is deleted for good from" in hidden


def test_samples_show_the_words_of_the_reader_alone(staff, alice, carol):
    aged(alice, "I like marmalade", days=40)
    aged(carol, "I like figs", days=41)

    page = shown(staff, ttl_days=30, rationale="Tastes change.")

    assert "figs" in words_of(page)
    assert "marmalade" not in page.content.decode()
    assert [sample.age_days for sample in page.context["effects"].samples] == [41, 40]


def test_what_goes_now_is_a_sample_though_it_would_end_soon_anyway(staff, carol):
    aged(carol, "I like figs", days=360)

    page = shown(staff, ttl_days=10, rationale="Tastes change.")

    assert [(sample.statement, sample.goes) for sample in page.context["effects"].samples] == [
        ("I like figs", True)
    ]


def test_ages_are_drawn_with_both_limits_and_told_in_a_table(staff, alice):
    for days in (2, 40, 300):
        aged(alice, f"It was {days} days ago", days=days)

    chart = shown(staff, ttl_days=30, rationale="Tastes change.").context["effects"].ages

    assert [mark.label for mark in chart.marks] == ["Now: 365 days", "Then: 30 days"]
    assert sum(point.value for point in chart.points) == 3


def test_limits_far_beyond_the_oldest_stand_where_they_are_and_not_on_one_edge(staff, alice):
    aged(alice, "I like figs", days=34)

    chart = shown(staff, ttl_days=90, rationale="Tastes change.").context["effects"].ages

    now, then = (float(mark.x) for mark in chart.marks)
    assert now == pytest.approx(100, abs=1)
    assert then == pytest.approx(100 * 91 / 366, abs=1)
    bars = [float(shape.x) for shape in chart.shapes if shape.point.value]
    assert bars[0] < then
    assert chart.description == "1 follows the lifetime of this kind; it is 32–47 days old."


def test_a_rule_that_was_shown_is_set_at_once_and_can_be_undone_on_the_next_page(staff, alice):
    aged(alice, "I like figs", days=40)

    page = applied(staff, ttl_days=30, rationale="Tastes change.")

    changed = Kind.objects.get(slug="preference")
    assert (changed.ttl_days, changed.rationale) == (30, "Tastes change.")
    assert live(alice) == []
    assert "1 memory hidden: until " in words_of(page)
    sweep()
    staff.post(reverse("policies:change_undo", args=[KindChange.objects.get().id]))
    assert Kind.objects.get(slug="preference").ttl_days == 365
    assert live(alice) == ["I like figs"]


def test_a_draft_that_was_changed_after_the_look_is_looked_at_again(staff):
    look = shown(staff, ttl_days=30, rationale="Tastes change.")

    response = staff.post(
        page_of("preference"),
        {
            **rule(ttl_days=3, rationale="Tastes change."),
            "seen": seen(look),
            "apply": look.context["token"],
        },
    )

    assert response.status_code == 200
    assert response.context["effects"].differences[0].after == "3 days"
    assert Kind.objects.get(slug="preference").ttl_days == 365
    assert (
        "Not changed yet: the preview was for “Lifetime: 30 days”, and the form now says “Lifetime: 3 days”."
        in words_of(response)
    )
    # In view, with scripts or without.
    assert re.search(r'role="alert"\s+tabindex="-1"\s+autofocus', response.content.decode())


def test_another_day_after_the_look_is_looked_at_again(staff):
    values = rule(ttl_days=30, rationale="Tastes change.")
    look = shown(staff, ttl_days=30, rationale="Tastes change.")
    day = timezone.localdate() + timedelta(days=5)

    response = staff.post(
        page_of("preference"),
        {**values, "applies_on": day.isoformat(), "seen": seen(look), "apply": look.context["token"]},
    )

    assert f"the preview was for “From: now”, and the form now says “From: {day.day} " in words_of(response)
    assert not KindChange.objects.exists()


@pytest.mark.parametrize("token", ["", "yes", "W10:1vPq:x"])
def test_nothing_is_done_that_was_not_looked_at(staff, token):
    look = staff.get(page_of("preference"))

    response = staff.post(
        page_of("preference"), {**rule(ttl_days=30, rationale="No."), "seen": seen(look), "apply": token}
    )

    assert "Not changed yet: look first at what it would do." in words_of(response)
    assert not KindChange.objects.exists()


def test_a_look_warns_of_nothing(staff):
    assert "Not changed yet" not in words_of(shown(staff, ttl_days=30, rationale="Tastes change."))


@pytest.mark.parametrize(
    ("slug", "holds_for"),
    [
        ("preference", "holds for memories that exist already, too. Those kept for ever"),
        ("experience", "holds for those that exist already, too."),
        ("scratchpad", "holds for records that exist already, too. Those that somebody keeps for ever stay."),
    ],
)
def test_before_anything_is_written_the_form_says_what_a_new_lifetime_needs_and_ends(staff, slug, holds_for):
    said = words_of(staff.get(page_of(slug)))

    assert f"A new lifetime {holds_for}" in said
    assert "A new lifetime needs a new reason." in said


def test_of_two_admins_one_wins_and_the_other_sees_both(staff, carol):
    look = shown(staff, ttl_days=30, rationale="Tastes change.")
    kind_changes.change(
        "preference",
        {"ttl_days": 90, "rationale": "A season."},
        changed_by=carol.id,
        now=timezone.now(),
    )

    response = staff.post(
        page_of("preference"),
        {
            **rule(ttl_days=30, rationale="Tastes change."),
            "seen": seen(look),
            "apply": look.context["token"],
        },
    )

    assert response.status_code == 409
    said = words_of(response)
    assert "Lifetime 365 days 90 days 30 days" in said
    assert "By carol: “A season.”" in said
    assert Kind.objects.get(slug="preference").ttl_days == 90
    # What it shows next is of the rule as it is now.
    assert '"ttl_days": 90' in seen(response)


@pytest.mark.parametrize(
    "sent",
    [
        *("", "[", "[" * 100_000, "[]", '{"ttl_days": ' + "[" * 800 + "]" * 800 + "}", '{"ttl_days": {}}'),
        *('{"label": 5}', '{"min_confidence": "x"}', '{"min_confidence": NaN}', '{"ttl_days": true}'),
    ],
)
def test_what_was_seen_is_looked_at_anew_when_it_is_not_as_it_was_sent(staff, sent):
    response = staff.post(page_of("preference"), {**rule(ttl_days=30, rationale="No."), "seen": sent})

    assert response.status_code == 200
    assert '"ttl_days": 365' in seen(response)


def test_all_of_a_rule_is_changed_in_one_form(staff):
    applied(
        staff,
        ttl_days="",
        half_life_days=30,
        min_confidence=55,
        needs_confirmation="on",
        is_always_used="on",
        rationale="All else.",
    )

    changed = Kind.objects.get(slug="preference")
    assert changed.ttl_days is None
    assert (changed.half_life_days, changed.min_confidence) == (30, 0.55)
    assert (changed.needs_confirmation, changed.is_always_used) == (True, True)
    assert changed.rationale == "All else."


def test_a_percentage_that_stays_leaves_the_number_as_it_is(staff):
    Kind.objects.filter(slug="preference").update(min_confidence=0.333)

    applied(staff, half_life_days=77)

    changed = Kind.objects.get(slug="preference")
    assert (changed.half_life_days, changed.min_confidence) == (77, 0.333)


def test_what_the_other_fields_do_is_said_too(staff, alice, bob):
    Memory.objects.filter(id=aged(alice, "I like figs", days=1).id).update(confidence=0.4)
    Memory.objects.filter(id=aged(bob, "I like dates", days=1).id).update(confidence=0.9)

    effects = shown(staff, min_confidence=50, is_always_used="on", needs_confirmation="on").context["effects"]

    assert (effects.sureness.drops, effects.sureness.drops_users, effects.sureness.returns) == (1, 1, 0)
    assert (effects.standing.people, effects.standing.most_rows) == (1, 1)
    assert effects.unconfirmed == 0
    assert list(effects.table) == []


def test_rows_with_an_end_of_their_own_are_counted_as_untouched(staff, alice):
    aged(alice, "I like figs", days=50)
    Memory.objects.filter(id=aged(alice, "I like dates", days=50).id).update(is_kept=True)
    Memory.objects.filter(id=aged(alice, "I like plums", days=50).id).update(
        expires_at=timezone.now() + timedelta(days=3)
    )

    effects = shown(staff, ttl_days=30, rationale="Tastes change.").context["effects"]

    assert effects.exempt_words == "Not touched: 1 kept for ever, 1 with a date of its own."
    assert effects.goes_first.rows == 1


def test_a_change_on_a_day_waits_for_the_beginning_of_that_day_where_the_admin_is(staff, carol, alice):
    carol.time_zone = "Asia/Kathmandu"
    carol.save()
    aged(alice, "I like figs", days=40)
    day = timezone.localdate() + timedelta(days=5)

    page = applied(staff, ttl_days=30, rationale="Tastes change.", applies_on=day.isoformat())

    change = KindChange.objects.get()
    assert change.applies_at == datetime.combine(day, time(), tzinfo=ZoneInfo("Asia/Kathmandu"))
    assert change.applied_at is None
    assert Kind.objects.get(slug="preference").ttl_days == 365
    assert "Withdraw this change" in words_of(page)
    assert live(alice) == ["I like figs"]


def test_what_was_done_is_told_below_the_tabs(staff):
    made = applied(staff, ttl_days=30, rationale="Tastes change.").content.decode()
    url = reverse("policies:change_undo", args=[KindChange.objects.get().id])
    undone = staff.post(url, follow=True).content.decode()

    assert made.index('class="tabs"') < made.index("Changed: ")
    assert undone.index('class="tabs"') < undone.index("Undone: ")


def test_of_two_changes_the_newest_is_undone_first_and_then_the_one_before(staff):
    applied(staff, ttl_days=30, rationale="Tastes change.")
    applied(staff, ttl_days=60, rationale="Not so fast.")

    for expected in (30, 365):
        page = staff.get(page_of("preference"))
        staff.post(reverse("policies:change_undo", args=[page.context["undoing"].change_id]))
        assert Kind.objects.get(slug="preference").ttl_days == expected


def test_a_change_to_come_can_be_withdrawn(staff):
    day = timezone.localdate() + timedelta(days=5)
    applied(staff, ttl_days=30, rationale="Tastes change.", applies_on=day.isoformat())
    change = KindChange.objects.get()

    staff.post(reverse("policies:change_undo", args=[change.id]))

    assert kind_changes.apply_due(change.applies_at) == 0
    assert Kind.objects.get(slug="preference").ttl_days == 365
    assert "Withdrawn" in words_of(staff.get(page_of("preference")))


def test_while_a_change_waits_another_is_refused(staff):
    day = timezone.localdate() + timedelta(days=5)
    applied(staff, ttl_days=30, rationale="Tastes change.", applies_on=day.isoformat())

    refused = applied(staff, ttl_days=60, rationale="Or not.")

    assert refused.status_code == 409
    assert "Withdraw it first." in words_of(refused)


@pytest.mark.parametrize("day", ["2001-01-01", "2999-01-01", "soon"])
def test_a_day_that_cannot_be_is_refused(staff, day):
    response = shown(staff, ttl_days=30, rationale="Tastes change.", applies_on=day)

    assert response.status_code == 422
    assert Kind.objects.get(slug="preference").ttl_days == 365


def test_the_first_day_there_is_is_refused_wherever_the_admin_is(staff, carol):
    carol.time_zone = "Asia/Kathmandu"
    carol.save()

    response = shown(staff, ttl_days=30, rationale="Tastes change.", applies_on="0001-01-01")

    assert response.status_code == 422


def test_what_the_sweep_has_deleted_does_not_come_back_and_the_page_says_so(staff, alice):
    aged(alice, "I like figs", days=40)
    applied(staff, ttl_days=30, rationale="Tastes change.")
    KindChange.objects.update(applied_at=timezone.now() - timedelta(hours=25))
    sweep()

    said = words_of(staff.get(page_of("preference")))
    assert "1 is gone for good by this change: only the rule comes back" in said
    assert "Undo: " not in said
    assert "Undo 1 is gone for good" in said
    page = staff.post(reverse("policies:change_undo", args=[KindChange.objects.get().id]), follow=True)

    assert "Gone for good: 1 memory." in words_of(page)
    assert Kind.objects.get(slug="preference").ttl_days == 365
    assert live(alice) == []


@pytest.mark.parametrize("days", ["soon", "-1", "0", "1.5", "36501", "99999999", "٣"])
def test_a_lifetime_that_cannot_be_says_why(staff, days):
    response = staff.post(page_of("preference"), rule(ttl_days=days, rationale="Because."))

    assert response.status_code == 422
    assert "Lifetime in days: 1 to 36,500, or empty." in words_of(response)
    assert "ttl_days" not in words_of(response)
    assert Kind.objects.get(slug="preference").ttl_days == 365


def test_the_reason_so_far_is_shown_and_not_carried_over(staff):
    Kind.objects.filter(slug="preference").update(rationale="<i>Tastes</i> change.")
    page = staff.get(page_of("preference"))
    empty = shown(staff, ttl_days=30, rationale="")
    applied(staff, label="Tastes", rationale="")

    field = re.search(r"<textarea[^>]*>(.*?)</textarea>", page.content.decode(), flags=re.DOTALL)
    assert field
    assert field[1].strip() == ""
    assert "So far: “&lt;i&gt;Tastes&lt;/i&gt; change.”" in page.content.decode()
    assert "Say why it is kept so long from now on." in words_of(empty)
    kind = Kind.objects.get(slug="preference")
    assert (kind.label, kind.rationale, kind.ttl_days) == ("Tastes", "<i>Tastes</i> change.", 365)


def test_another_lifetime_asks_for_a_reason_of_its_own(staff):
    response = shown(staff, ttl_days=30)

    assert response.status_code == 422
    assert "A new lifetime needs a new reason. Say why" in words_of(response)
    reason = re.search(r"<textarea[^>]*>", response.content.decode())
    assert reason
    assert 'aria-invalid="true"' in reason[0]
    assert Kind.objects.get(slug="preference").ttl_days == 365


def test_a_rule_needs_its_reason(staff):
    response = shown(staff, ttl_days=30, rationale="  ")

    assert response.status_code == 422
    assert Kind.objects.get(slug="preference").ttl_days == 365


def test_records_of_runs_are_counted_by_the_scratchpad(staff, alice):
    conversation = conversations.start_conversation(alice, now=timezone.now())
    finished_turn(alice, conversation.id, text="Go", reply="Gone")

    look = shown(staff, "scratchpad", ttl_days=0, rationale="None are kept.")
    applied(staff, "scratchpad", ttl_days=0, rationale="None are kept.")

    now = look.context["effects"].goes_first
    assert (now.rows, now.users) == (1, 1)
    assert Kind.objects.get(slug="scratchpad").ttl_days == 0


def test_undoing_another_lifetime_of_records_says_what_it_keeps(staff, alice):
    conversation = conversations.start_conversation(alice, now=timezone.now())
    finished_turn(alice, conversation.id, text="Go", reply="Gone")

    look = shown(staff, "scratchpad", ttl_days=0, rationale="None are kept.")
    done = applied(staff, "scratchpad", ttl_days=0, rationale="None are kept.")

    assert "Undoing the change within 24 hours keeps all of them" in words_of(look)
    assert "Undo: keep 1 record" in words_of(done)


def test_experiences_have_no_place_in_every_prompt_and_runs_only_a_lifetime(staff):
    fields = {
        slug: set(staff.get(page_of(slug)).context["form"].fields) for slug in ("experience", "scratchpad")
    }

    assert "is_always_used" not in fields["experience"]
    assert fields["scratchpad"] == {"label", "ttl_days", "rationale", "applies_on"}


def test_a_look_leads_to_what_it_found_and_a_refusal_to_what_is_wrong(staff):
    found = shown(staff, ttl_days=30, rationale="Tastes change.").content.decode()
    refused = shown(staff, ttl_days="soon").content.decode()

    assert f'formaction="{page_of("preference")}#preview"' in found
    assert re.search(r'id="preview"\s+tabindex="-1"', found)
    assert 'id="preview"' not in refused
    assert re.search(r'<input[^>]*name="ttl_days"[^>]*autofocus', refused)
