"""The activity log: who did what and when, filtered, paged, saved as a file; without what anything says."""

import csv
import io
import json
from datetime import UTC, datetime, timedelta
from uuid import uuid4

import pytest
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext
from django.urls import reverse
from django.utils import timezone

from memoryapp.acting import Actor, acting_as
from memoryapp.activity import operations as activity
from memoryapp.activity.models import Entry, Tier, Verb
from memoryapp.longterm import forgettings
from memoryapp.longterm import operations as longterm
from memoryapp.longterm.models import Kind
from memoryapp.transcript import deletions, redaction
from memoryapp.transcript import queries as transcript
from tests.api.conftest import program_of
from tests.inspector.reading import words_of
from tests.longterm.saying import remember
from tests.transcript.branching import talk
from tests.world import CONTENT, everything_of

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("nudges")]
PAGE = "/memory/activity/"


def note(
    user, verb=Verb.ADDED, *, actor=Actor.PERSON, name="", tier=Tier.LONGTERM, at=None, **values
) -> Entry:
    with acting_as(actor, name):
        activity.note(user.id, verb, tier=tier, **values)
    entry = Entry.objects.order_by("-id").first()
    assert entry
    if at:
        Entry.objects.filter(id=entry.id).update(recorded_at=at)
    return entry


def listed(browser, **filters) -> list[tuple[str, str]]:
    return [(row.who, row.did) for row in browser.get(PAGE, filters).context["entries"]]


@pytest.fixture
def empty_log(alice):
    """What is said in the arranging of a test is not what it is about."""
    return lambda: Entry.objects.filter(user=alice).delete()


class TestList:
    def test_neither_the_page_nor_a_file_has_content(self, browser, alice, empty_log):
        everything_of(alice)

        page = browser.get(PAGE)
        saved = [browser.get(PAGE, {"format": ending}).getvalue().decode() for ending in ("csv", "json")]

        assert "laptop" in words_of(page)
        # Beside it stand the names of chats, above it what can still be undone.
        rows = page.content.decode().partition('id="log-title"')[2]
        assert all(CONTENT not in text for text in (rows, *saved))

    def test_actors_are_named(self, browser, alice):
        note(alice, Verb.ADDED, actor=Actor.ASSISTANT)
        note(alice, Verb.READ, actor=Actor.PROGRAM, name="laptop", rows=14)
        note(alice, Verb.OPENED, actor=Actor.ADMIN, name="carol", tier=Tier.ACCOUNT, detail="Ticket 7")
        note(alice, Verb.EXPIRED, actor=Actor.SYSTEM, rows=3)
        note(alice, Verb.EDITED)

        shown = words_of(browser.get(PAGE))

        assert listed(browser) == [
            ("You", "Edited"),
            ("Strata", "Expired"),
            ("An admin (carol)", "Opened with a reason"),
            ("laptop", "Read"),
            ("The assistant", "Added"),
        ]
        for words in ("14 facts", "3 memories", "Ticket 7"):
            assert words in shown

    @pytest.mark.parametrize(
        ("filters", "expected"),
        [
            ({}, 3),
            ({"actor": "program"}, 1),
            ({"verb": "added"}, 1),
            ({"tier": "transcript"}, 1),
            ({"from": "2026-03-02"}, 2),
            ({"to": "2026-03-02"}, 2),
            ({"from": "2026-03-02", "to": "2026-03-02"}, 1),
            ({"actor": "nobody"}, 0),
            ({"from": "when?"}, 3),
            ({"to": "9999-12-31"}, 3),
        ],
    )
    def test_each_filter_has_an_address(self, browser, alice, filters, expected):
        for day, verb, values in (
            (1, Verb.ADDED, {}),
            (2, Verb.READ, {"actor": Actor.PROGRAM}),
            (3, Verb.DELETED, {"tier": Tier.TRANSCRIPT}),
        ):
            note(alice, verb, at=datetime(2026, 3, day, 23, 59, tzinfo=UTC), **values)

        assert len(listed(browser, **filters)) == expected

    def test_days_are_those_of_the_person(self, browser, alice):
        alice.time_zone = "Asia/Tokyo"
        alice.save()
        note(alice, at=datetime(2026, 3, 1, 16, 0, tzinfo=UTC))

        assert len(listed(browser, **{"from": "2026-03-02"})) == 1
        assert len(listed(browser, to="2026-03-01")) == 0

    def test_pages_follow_each_other_and_keep_the_filters(self, browser, alice, monkeypatch):
        monkeypatch.setattr("memoryapp.inspector.activity_views.PAGE", 2)
        entries = [note(alice, Verb.EDITED) for _ in range(3)]
        note(alice, Verb.DELETED)

        first = browser.get(PAGE, {"verb": "edited"}).context
        second = browser.get(PAGE + first["next_url"]).context

        ids = [row.id for page in (first, second) for row in page["entries"]]
        assert ids == [entry.id for entry in reversed(entries)]
        assert second["next_url"] == ""

    def test_nothing_yet_and_no_match_are_told_apart(self, browser, alice):
        empty = words_of(browser.get(PAGE))
        note(alice)
        unmatched = words_of(browser.get(PAGE, {"verb": "edited"}))

        assert "Nothing has happened yet" in empty
        assert "Nothing of that kind happened" in unmatched

    def test_bob_sees_nothing_of_alice(self, alice, bob):
        note(alice)
        bobs = Client()
        bobs.force_login(bob)

        assert listed(bobs) == []

    def test_a_stranger_signs_in_first(self, client, db):
        assert client.get(PAGE).status_code == 302


class TestSubjects:
    def test_a_row_leads_to_what_it_is_about(self, browser, alice):
        world = everything_of(alice)
        Entry.objects.all().delete()
        for tier, subject_id in (
            (Tier.LONGTERM, world.memory_id),
            (Tier.LONGTERM, world.experience_id),
            (Tier.TRANSCRIPT, world.conversation_id),
            (Tier.TRANSCRIPT, world.turn_id),
            (Tier.SCRATCHPAD, world.run_id),
        ):
            note(alice, tier=tier, subject_id=subject_id)

        urls = [row.subject.url for row in browser.get(PAGE).context["entries"]]

        assert urls == [
            reverse("inspector:run", args=[world.run_id]),
            reverse("inspector:conversation", args=[world.conversation_id]),
            reverse("inspector:conversation", args=[world.conversation_id]),
            reverse("inspector:experience", args=[world.experience_id]),
            reverse("inspector:fact", args=[world.memory_id]),
        ]
        assert {browser.get(url).status_code for url in urls} == {200}

    def test_what_is_gone_is_said_to_be_gone(self, browser, alice):
        memory = remember(alice, "I like figs").memory
        note(alice, Verb.EDITED, subject_id=memory.id)
        longterm.forget(alice.id, memory.id, now=timezone.now())

        response = browser.get(PAGE, {"verb": "edited"})

        assert "a fact that is gone" in words_of(response)
        assert "figs" not in words_of(response)
        assert str(memory.id) not in response.content.decode()

    def test_a_memory_is_linked_and_its_kind_named_by_its_label(self, browser, alice):
        memory = remember(alice, "I like figs").memory
        note(alice, Verb.REINFORCED, subject_id=memory.id, detail="contact_preference")
        label = Kind.objects.get(slug="contact_preference").label

        (row, *_) = browser.get(PAGE).context["entries"]

        assert (row.subject.url, row.detail) == (f"/memory/facts/{memory.id}/", label)

    @pytest.mark.parametrize("act", ["delete", "redact", "undo"])
    def test_turns_and_messages_are_not_called_conversations(self, browser, alice, act):
        turns = talk(alice, "figs", "figs", "dates")
        if act == "redact":
            redaction.redact_message(alice.id, transcript.user_message(turns[0]).id, words="figs")
        else:
            deletion = deletions.delete_turns(alice.id, turns[1].id, following=True, now=timezone.now())
        if act == "undo":
            deletions.undo_deletion(alice.id, deletion.id)

        shown = words_of(browser.get(PAGE))

        expected = {"delete": "Deleted 2 exchanges", "undo": "Restored 2 exchanges"}
        # Each reply repeats the word.
        assert expected.get(act, "Redacted 4 messages") in shown
        assert "2 conversations" not in shown

    def test_many_rows_take_no_more_queries_than_few(self, browser, alice, bob):
        def queries() -> int:
            with CaptureQueriesContext(
                connection,
            ) as captured:
                assert browser.get(PAGE).status_code == 200
            return len(captured)

        for tier in Tier:
            note(alice, tier=tier, subject_id=uuid4())
        few = queries()
        for _ in range(10):
            for tier in Tier:
                note(alice, tier=tier, subject_id=uuid4())

        assert queries() == few

    def test_a_full_page_is_light(self, browser, alice):
        for number in range(60):
            note(alice, subject_id=uuid4(), actor=Actor.PROGRAM, name=f"program {number} " + "x" * 60)

        assert len(browser.get(PAGE).content) < 100_000


class TestUndo:
    def test_an_open_forgetting_can_be_undone_here(self, browser, alice):
        memory = remember(alice, "I like figs").memory
        act = forgettings.forget(alice.id, [memory.id], now=timezone.now())

        shown = browser.get(PAGE)
        browser.post(reverse("inspector:forgetting_undo", args=[act.id]), {"next": PAGE})

        assert "Forgot 1 fact" in words_of(shown)
        assert reverse("inspector:forgetting_undo", args=[act.id]) in shown.content.decode()
        assert browser.get(PAGE).context["undoable"] == []
        assert browser.get(f"/memory/facts/{memory.id}/").status_code == 200


class TestReaders:
    def test_a_strip_shows_who_was_given_memories_on_which_day(self, browser, alice):
        memory = remember(alice, "I like figs").memory
        program = program_of(alice)
        for _ in range(3):
            program.get(f"/api/v1/memories/{memory.id}")

        response = browser.get(PAGE)
        (reader,) = response.context["strip"].readers

        assert (reader.name, reader.total, len(reader.cells)) == ("tests", 3, 28)
        assert [cell.shade for cell in reader.cells] == [0] * 27 + [4]
        assert reader.cells[-1].words.endswith(": 3 facts")
        assert "tests" in words_of(response)

    def test_without_readers_there_is_no_strip(self, browser, alice):
        assert browser.get(PAGE).context["strip"] is None


class TestExport:
    def test_the_filtered_log_is_saved_as_csv(self, browser, alice):
        note(alice, Verb.READ, actor=Actor.PROGRAM, name="=cmd()", rows=14)
        note(alice, Verb.EDITED)

        response = browser.get(PAGE, {"verb": "read", "format": "csv"})
        rows = list(csv.DictReader(io.StringIO(response.getvalue().decode())))

        assert response["Content-Disposition"] == 'attachment; filename="memory-activity.csv"'
        assert [(row["actor"], row["name"], row["verb"], row["rows"]) for row in rows] == [
            ("program", "'=cmd()", "read", "14")
        ]

    @pytest.mark.parametrize(
        ("name", "written"),
        [
            ("=cmd()", "'=cmd()"),
            (" =1+1", "' =1+1"),
            ("\u200b@x", "'\u200b@x"),
            ("x;=HYPERLINK(1)", "x;'=HYPERLINK(1)"),
            ("x; -1", "x;' -1"),
            ("a-b; c=d", "a-b; c=d"),
        ],
    )
    def test_no_cell_of_the_csv_is_a_formula(self, browser, alice, name, written):
        note(alice, Verb.READ, actor=Actor.PROGRAM, name=name)

        saved = browser.get(PAGE, {"format": "csv"}).getvalue().decode()

        assert f',"{written}",' in saved

    def test_the_filtered_log_is_saved_as_json(self, browser, alice):
        subject_id = uuid4()
        note(alice, Verb.READ, actor=Actor.PROGRAM, name="laptop", rows=14)
        note(alice, Verb.EDITED, subject_id=subject_id)

        saved = json.loads(browser.get(PAGE, {"format": "json"}).getvalue())

        assert [(row["name"], row["rows"], row["subject_id"]) for row in saved["entries"]] == [
            ("", 1, str(subject_id)),
            ("laptop", 14, None),
        ]

    def test_a_file_holds_the_newest_up_to_a_limit(self, browser, alice, monkeypatch):
        monkeypatch.setattr("memoryapp.inspector.activity_views.EXPORT_MAX_ROWS", 2)
        for rows in range(1, 5):
            note(alice, rows=rows)

        saved = json.loads(browser.get(PAGE, {"format": "json"}).getvalue())

        assert [row["rows"] for row in saved["entries"]] == [4, 3]

    def test_bob_saves_nothing_of_alice(self, alice, bob):
        note(alice)
        bobs = Client()
        bobs.force_login(bob)

        assert json.loads(bobs.get(PAGE, {"format": "json"}).getvalue()) == {"entries": []}


class TestApi:
    URL = "/api/v1/activity"

    def test_it_has_the_same_filters_and_pages(self, alice):
        api = program_of(alice)
        for day in (1, 2, 3):
            note(alice, Verb.EDITED, at=datetime(2026, 3, day, tzinfo=UTC))
        note(alice, Verb.ADDED, at=datetime(2026, 3, 2, tzinfo=UTC))

        first = api.get(self.URL, {"verb": "edited", "from": "2026-03-02", "limit": 1}).json()
        second = api.get(
            self.URL, {"verb": "edited", "from": "2026-03-02", "limit": 1, "cursor": first["next_cursor"]}
        ).json()

        days = [item["recorded_at"][:10] for page in (first, second) for item in page["items"]]
        assert days == ["2026-03-03", "2026-03-02"]
        assert second["next_cursor"] is None

    def test_a_verb_that_does_not_exist_is_refused(self, alice):
        assert program_of(alice).get(self.URL, {"verb": "nonsense"}).status_code == 422

    def test_bob_reads_nothing_of_alice(self, alice, bob):
        note(alice)

        assert program_of(bob).get(self.URL).json()["items"] == []


def test_entries_older_than_the_knob_go_with_the_sweep(alice, configure):
    from memoryapp.lifecycle.tasks import sweep

    configure(STRATA_ACTIVITY_DAYS="30")
    note(alice, Verb.EDITED, at=timezone.now() - timedelta(days=31))
    note(alice, Verb.CONFIRMED, at=timezone.now() - timedelta(days=29))

    sweep()

    assert list(Entry.objects.filter(user=alice).values_list("verb", flat=True)) == ["confirmed"]
