"""The page of the tiers: what admins set while Strata runs, with a look at what it ends and a way back."""

import re
from datetime import timedelta

import pytest
from django.urls import reverse
from django.utils import timezone, translation

from memoryapp.longterm import kind_changes
from memoryapp.longterm.models import Memory
from memoryapp.transcript import conversations
from memoryapp.transcript.models import Conversation
from memoryapp.tuning import operations, queries
from memoryapp.tuning.knobs import TUNABLE
from memoryapp.tuning.models import Setting, SettingChange
from tests.inspector.reading import words_of
from tests.longterm.saying import remember

TIERS = reverse("policies:tiers")
UNDO = reverse("policies:tiers_undo")
HISTORY = reverse("policies:tiers_history")


def form_of(**written: str) -> dict[str, str]:
    """What a browser sends of the page as it stands, with these fields written over, and a reason."""
    conf, sent = queries.conf(), {"reason": "A trial."}
    for name, knob in TUNABLE.items():
        shown = str(written.get(name, ""))
        was = operations.shown(knob, getattr(conf, name))
        sent |= {f"was_{name}": was, name: shown or was}
    return sent | {name: value for name, value in written.items() if name not in TUNABLE}


def quiet_for(user, *, days: float, **fields) -> Conversation:
    """A conversation in which nothing was said for so long."""
    made = conversations.start_conversation(user, now=timezone.now())
    Conversation.objects.filter(id=made.id).update(updated_at=timezone.now() - timedelta(days=days), **fields)
    return made


@pytest.mark.parametrize("address", [TIERS, HISTORY])
def test_who_is_not_staff_reads_nothing(client, bob, address):
    client.force_login(bob)

    assert client.get(address).status_code == 403


@pytest.mark.parametrize("address", [TIERS, UNDO])
def test_who_is_not_staff_changes_nothing(client, bob, address):
    client.force_login(bob)

    assert client.post(address, form_of(run_max_steps="5")).status_code == 403
    assert not Setting.objects.exists()


@pytest.mark.parametrize("address", [TIERS, HISTORY])
def test_strangers_are_sent_to_sign_in(client, db, address):
    assert reverse("account_login") in client.get(address)["Location"]


def test_each_knob_stands_in_its_tier_with_its_default_and_why(staff):
    response = staff.get(TIERS)

    html, words = response.content.decode(), words_of(response)
    assert [group.tier for group in response.context["groups"]] == [
        "scratchpad",
        "transcript",
        "longterm",
        "model",
        "budget",
    ]
    for name, knob in TUNABLE.items():
        assert f'name="{name}"' in html
        assert knob.why in words
    assert "Default 16 steps: Most tasks need three to six." in words
    assert "0: for ever." in words
    assert len(html) < 100_000


def test_several_are_set_at_once_with_a_reason_and_can_be_undone(staff, carol):
    response = staff.post(TIERS, form_of(run_max_steps="5", compaction_trigger_share="50"))

    assert (response.status_code, response["Location"]) == (302, TIERS)
    assert (queries.conf().run_max_steps, queries.conf().compaction_trigger_share) == (5, 0.5)
    shown = words_of(staff.get(TIERS))
    assert "Changed: 2 settings." in shown
    assert "Set by carol" in shown
    assert "Steps of a run 16 steps (default)" in shown
    change = SettingChange.objects.get()
    assert (change.changed_by, change.reason) == (carol, "A trial.")

    staff.post(UNDO, {"change": str(change.id)})

    assert queries.conf().run_max_steps == 16
    assert "Undone. What was set before holds again." in words_of(staff.get(TIERS))
    assert not Setting.objects.exists()


def test_that_a_value_is_back_by_an_undo_is_said_in_the_readers_language(staff, carol):
    staff.post(TIERS, form_of(run_max_steps="5"))
    staff.post(TIERS, form_of(run_max_steps="7"))
    newest = SettingChange.objects.order_by("-id")[0]
    staff.post(UNDO, {"change": str(newest.id)})

    assert "Undone: A trial." in words_of(staff.get(TIERS))
    assert Setting.objects.get().reason == "A trial."


def test_the_page_leads_to_each_of_its_sections(staff):
    html = staff.get(TIERS).content.decode()

    jumps = re.findall(r'href="#((?:tier|changes)-[a-z]+)"', html)
    assert len(jumps) == 6
    assert all(f'id="{jump}"' in html for jump in jumps)


def test_numbers_stand_and_are_read_as_in_the_language_of_the_page(staff, carol):
    carol.language = "de"
    carol.save()

    html = staff.get(TIERS).content.decode()
    with translation.override("de"):
        sent = form_of(daily_usd="0,5", run_max_tokens="1.000.000")
    staff.post(TIERS, sent)

    assert 'value="2.000.000"' in html
    assert (queries.conf().daily_usd, queries.conf().run_max_tokens) == (0.5, 1_000_000)


def test_what_is_wrong_is_said_beside_its_field_and_nothing_is_lost(staff):
    response = staff.post(TIERS, form_of(run_max_steps="many", run_max_seconds="900", chat_model="big"))

    html, words = response.content.decode(), words_of(response)
    assert response.status_code == 422
    assert "Write a whole number from 1 to 200." in words
    assert 'value="many"' in html
    assert 'value="900"' in html
    assert 'value="big"' in html
    assert 'value="A trial."' in html
    assert '<a href="#knob-run_max_steps">' in html
    assert not Setting.objects.exists()


def test_a_missing_reason_is_asked_for(staff):
    response = staff.post(TIERS, form_of(run_max_steps="5", reason=" "))

    assert response.status_code == 422
    assert "Say why, in 3 to 300 characters" in words_of(response)
    assert 'value="5"' in response.content.decode()
    assert not Setting.objects.exists()


def test_a_form_that_changes_nothing_says_so(staff):
    response = staff.post(TIERS, form_of())

    assert response.status_code == 422
    assert "All values are as they were." in words_of(response)


def test_an_old_page_takes_back_nothing_that_it_did_not_touch(staff, carol):
    old_page = form_of(run_max_steps="5")
    operations.change({"chat_model": "other"}, by=carol, reason="A trial.", now=timezone.now(), seen={})

    staff.post(TIERS, old_page)

    assert (queries.conf().run_max_steps, queries.conf().chat_model) == (5, "other")


def test_a_field_that_another_admin_changed_meanwhile_is_asked_for_again(staff, carol):
    old_page = form_of(run_max_steps="5")
    operations.change({"run_max_steps": 9}, by=carol, reason="A trial.", now=timezone.now(), seen={})

    response = staff.post(TIERS, old_page)

    assert response.status_code == 422
    assert "Somebody changed it to 9 meanwhile. Save again to keep yours." in words_of(response)
    assert 'name="was_run_max_steps" value="9"' in response.content.decode()
    assert 'value="5"' in response.content.decode()


def test_an_emptied_field_is_the_default(staff, carol):
    operations.change({"run_max_steps": 9}, by=carol, reason="A trial.", now=timezone.now(), seen={})

    staff.post(TIERS, form_of() | {"run_max_steps": ""})

    assert queries.conf().run_max_steps == 16


def test_what_the_environment_sets_has_no_field(staff, configure):
    configure(STRATA_RUN_MAX_STEPS="9")

    response = staff.get(TIERS)

    assert 'name="run_max_steps"' not in response.content.decode()
    assert "Set by the environment: STRATA_RUN_MAX_STEPS" in words_of(response)


def test_what_would_end_conversations_is_counted_before_it_is_done(staff, alice, bob):
    quiet_for(alice, days=40)
    quiet_for(bob, days=26)
    quiet_for(bob, days=40, pinned_at=timezone.now())
    quiet_for(bob, days=40, retention_days=0)

    response = staff.post(TIERS, form_of(transcript_retention_days="30", run_max_steps="5"))

    assert response.status_code == 200
    assert [(row.days, row.conversations, row.users, row.kept) for row in response.context["preview"]] == [
        (0, 1, 1, 0),
        (7, 2, 2, 0),
        (30, 2, 2, 0),
    ]
    words = words_of(response)
    assert "Not counted: 2 conversations that are pinned or have a rule of their own." in words
    assert "Save, and end 1 conversation" in words
    assert "Conversations are kept for ever to 30 days" in words.replace("→ ", "")
    assert not Setting.objects.exists()


def test_what_was_counted_is_done_by_the_second_button(staff):
    shown = staff.post(TIERS, form_of(transcript_retention_days="30", run_max_steps="5"))
    hidden = dict(
        re.findall(r'<input type="hidden" name="([a-z_]+)" value="([^"]*)">', shown.content.decode())
    )

    response = staff.post(TIERS, hidden | {"apply": shown.context["apply"]})

    assert response["Location"] == TIERS
    assert (queries.conf().transcript_retention_days, queries.conf().run_max_steps) == (30, 5)


def test_a_value_that_was_changed_after_the_look_is_looked_at_again(staff):
    shown = staff.post(TIERS, form_of(transcript_retention_days="30"))

    response = staff.post(TIERS, form_of(transcript_retention_days="3", apply=shown.context["apply"]))

    assert response.status_code == 200
    assert "Conversations that end" in words_of(response)
    assert not Setting.objects.exists()


def test_the_way_back_from_the_look_loses_nothing(staff):
    response = staff.post(TIERS, form_of(transcript_retention_days="30", edit="yes"))

    assert 'value="30"' in response.content.decode()
    assert 'value="A trial."' in response.content.decode()
    assert not Setting.objects.exists()


def test_temporary_chats_are_counted_too_and_a_longer_time_keeps_some(staff, alice):
    quiet_for(alice, days=0.5, is_temporary=True)

    shorter = staff.post(TIERS, form_of(temporary_hours="2")).context["preview"]
    longer = staff.post(TIERS, form_of(temporary_hours="240")).context["preview"]

    assert [(row.conversations, row.kept) for row in shorter] == [(1, 0), (0, 0), (0, 0)]
    assert [(row.conversations, row.kept) for row in longer] == [(0, 0), (0, 1), (0, 0)]


def test_undoing_what_kept_conversations_is_looked_at_first(staff, carol, alice):
    operations.change(
        {"transcript_retention_days": 30}, by=carol, reason="A trial.", now=timezone.now(), seen={}
    )
    quiet_for(alice, days=40)
    longer = operations.change(
        {"transcript_retention_days": 0}, by=carol, reason="A trial.", now=timezone.now(), seen={}
    )

    shown = staff.post(UNDO, {"change": str(longer.id)})
    before = queries.conf().transcript_retention_days
    staff.post(UNDO, {"change": str(longer.id), "apply": shown.context["apply"]})

    assert shown.context["preview"][0].conversations == 1
    assert (before, queries.conf().transcript_retention_days) == (0, 30)


@pytest.mark.usefixtures("nudges")
def test_what_could_still_come_back_is_counted_before_its_time_is_shortened(staff, alice):
    hidden = remember(alice, "Invoice 1 was paid", kind="event").memory
    ended = remember(alice, "The fair is over", kind="decision").memory
    Memory.objects.filter(id=hidden.id).update(affirmed_at=timezone.now() - timedelta(days=100))
    Memory.objects.filter(id=ended.id).update(expires_at=timezone.now() - timedelta(hours=3))
    kind_changes.change("event", {"ttl_days": 30}, changed_by=None, now=timezone.now())

    longer = staff.post(TIERS, form_of(expired_hours="48"))
    some = staff.post(TIERS, form_of(expired_hours="2"))
    shown = staff.post(TIERS, form_of(expired_hours="0"))
    before = queries.conf().expired_hours
    done = staff.post(TIERS, form_of(expired_hours="0", apply=shown.context["apply"]))

    assert longer.status_code == 302
    assert (some.context["due_sooner"].rows, some.context["due_sooner"].promised) == (1, 0)
    words = words_of(shown)
    assert "2 expired memories that could still be brought back." in words
    assert "For 1 of them a change of its kind promised that it can come back." in words
    assert "Save, and delete 2 expired memories" in words
    assert "Conversations that end" not in words
    assert (before, done["Location"], queries.conf().expired_hours) == (48, TIERS, 0)


@pytest.mark.parametrize("change", ["", "x", "019364b2-0000-7000-8000-000000000000"])
def test_what_cannot_be_undone_changes_nothing(staff, change):
    response = staff.post(UNDO, {"change": change})

    assert response["Location"] == TIERS


def test_the_history_is_paged_and_asks_as_much_for_many_as_for_few(
    staff, carol, django_assert_max_num_queries
):
    def change_often(times: int) -> None:
        for _ in range(times):
            SettingChange.objects.create(
                before={"run_max_steps": None},
                after={"run_max_steps": 5},
                changed_by=carol,
                changed_at=timezone.now(),
                reason="Again.",
            )

    change_often(3)
    with django_assert_max_num_queries(50) as few:
        staff.get(HISTORY)
    change_often(30)
    with django_assert_max_num_queries(50) as many:
        response = staff.get(HISTORY)

    assert len(many) == len(few)
    assert len(response.context["changes"]) == 30
    older = staff.get(HISTORY, {"after": response.context["next_cursor"]})
    assert len(older.context["changes"]) == 3
    assert "Older changes" not in words_of(older)
