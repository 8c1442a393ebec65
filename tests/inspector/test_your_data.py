"""Your data: taken along as one archive; brought, looked at first, taken in and taken back."""

import io
from zipfile import ZipFile

import pytest
from django.core.files.uploadedfile import SimpleUploadedFile
from django.db import connection
from django.test.utils import CaptureQueriesContext
from django.urls import reverse
from django.utils import timezone

from memoryapp.activity.models import Entry
from memoryapp.longterm import forgettings
from memoryapp.portability import importing
from memoryapp.portability.models import ImportBatch
from memoryapp.receipts.models import Receipt, Scope
from tests.downloads import bytes_of
from tests.inspector.reading import words_of
from tests.inspector.test_break_glass import open_memory
from tests.longterm.saying import live, remember
from tests.portability.bringing import applied, brought, mem0

pytestmark = [
    pytest.mark.django_db(transaction=True, serialized_rollback=True),
    pytest.mark.usefixtures("nudges"),
]
DATA = "/memory/data/"


def upload(browser, content: bytes, name="export.json"):
    return browser.post(reverse("inspector:bring"), {"file": SimpleUploadedFile(name, content)})


def page(batch: ImportBatch) -> str:
    return reverse("inspector:import", args=[batch.id])


def post(browser, act: str, batch: ImportBatch):
    return browser.post(reverse(f"inspector:import_{act}", args=[batch.id]))


class TestTakingAlong:
    def test_the_archive_holds_ones_own_and_nobody_elses(self, browser, alice, bob):
        remember(alice, "I like figs")
        remember(bob, "I like plums")

        answer = browser.post(reverse("inspector:export"))

        assert answer["Content-Disposition"] == 'attachment; filename="strata-export.zip"'
        with ZipFile(io.BytesIO(bytes_of(answer))) as archive:
            text = archive.read("strata.json").decode()
        assert "I like figs" in text
        assert "plums" not in text

    def test_the_page_says_what_is_in_it(self, browser):
        shown = words_of(browser.get(DATA))

        assert "Nothing of other people is in it" in shown
        assert "You have brought nothing yet." in shown

    def test_looking_at_the_page_exports_nothing(self, browser):
        assert browser.get(reverse("inspector:export"))["Location"] == DATA
        assert not Entry.objects.exists()


class TestBringing:
    def test_a_file_is_read_and_shown_before_anything_is_taken_in(self, browser, alice):
        remember(alice, "Likes tea")
        answer = upload(browser, mem0("Likes tea", "Likes figs"))
        batch = ImportBatch.objects.get()
        waits = browser.get(answer["Location"])

        importing.work(batch.id)
        looked = browser.get(page(batch))
        shown = words_of(looked)

        assert answer["Location"] == page(batch)
        assert "The file is being read." in words_of(waits)
        assert 'hx-trigger="load delay:1s"' in waits.content.decode()
        assert "Import from mem0" in shown
        rows = {row.label: list(row.cells) for row in looked.context["import"].outcomes}
        assert rows == {"New": ["0", "1", "0"], "Known already": ["0", "1", "0"]}
        assert "Likes figs" in shown
        assert "Bring in 1 entry" in shown
        assert live(alice) == ["Likes tea"]

    def test_it_is_brought_in_and_taken_back_as_one(self, browser, alice):
        batch = brought(alice, mem0("Likes tea", "Likes figs"), is_preview=True)

        post(browser, "apply", batch)
        at_work = browser.get(page(batch))
        importing.work(batch.id)
        done, there = words_of(browser.get(page(batch))), live(alice)
        post(browser, "undo", batch)
        back = browser.get(page(batch))

        receipt = Receipt.objects.get(scope=Scope.BATCH)
        assert "You can leave this page." in words_of(at_work)
        assert "Undo this import" in done
        assert there == ["Likes figs", "Likes tea"]
        assert live(alice) == []
        assert reverse("inspector:receipt", args=[receipt.id]) in back.content.decode()
        assert "An import from mem0" in words_of(browser.get(reverse("inspector:receipts")))

    def test_the_part_that_looks_again_is_sent_alone(self, browser, alice):
        batch = brought(alice, mem0("Likes tea"), is_preview=True)

        part = browser.get(page(batch), headers={"HX-Request": "true"}).content.decode()

        assert part.lstrip().startswith('<div id="import"')
        assert "hx-get" not in part

    def test_what_is_left_out_is_said_in_words(self, browser, alice):
        batch = brought(alice, mem0("My password is hunter2-Xq9!", "Likes figs"), is_preview=True)

        shown = words_of(browser.get(page(batch)))

        assert "What is left out, and why" in shown
        assert "Passwords, keys and the like, which are never remembered: 1" in shown

    def test_why_what_was_forgotten_stays_out_is_said(self, browser, alice):
        memory = remember(alice, "Likes tea").memory
        forgettings.forget(alice.id, [memory.id], now=timezone.now(), is_final=True)
        batch = brought(alice, mem0("Likes tea"), is_preview=True)

        shown = words_of(browser.get(page(batch)))

        assert "Forgotten before" in shown
        assert "What you forgot stays out, whatever file holds it." in shown

    def test_nothing_new_offers_nothing_to_bring_in(self, browser, alice):
        remember(alice, "Likes tea")
        batch = brought(alice, mem0("Likes tea"), is_preview=True)

        shown = words_of(browser.get(page(batch)))

        assert "There is nothing new in it." in shown
        assert "Bring in" not in shown

    @pytest.mark.parametrize(
        ("content", "said"),
        [
            (b"not json at all", "Choose"),
            (b"PK\x03\x04 cut off", "again"),
            (b'{"results": []}', ""),
        ],
    )
    def test_a_file_that_cannot_be_read_says_what_to_do(self, browser, alice, content, said):
        upload(browser, content)
        batch = ImportBatch.objects.get()

        importing.work(batch.id)
        batch.refresh_from_db()
        shown = words_of(browser.get(page(batch)))

        assert batch.status == ImportBatch.Status.FAILED
        assert "This file could not be brought in" in shown
        assert batch.error_message in shown
        assert said in batch.error_message
        assert "Choose another file" in shown

    def test_what_is_no_file_an_empty_one_and_one_too_big_are_refused_on_the_page(self, browser, configure):
        configure(STRATA_IMPORT_MAX_MB="1")

        none = browser.post(reverse("inspector:bring"))
        empty = upload(browser, b"")
        big = upload(browser, b"x" * (1024 * 1024 + 1))

        assert [answer.status_code for answer in (none, empty, big)] == [422, 422, 413]
        assert "Choose a file first." in words_of(none)
        assert "A file of at most 1 MB can be imported." in words_of(big)
        assert not ImportBatch.objects.exists()

    def test_a_second_file_waits_for_the_first(self, browser):
        upload(browser, mem0("Likes tea"))

        answer = upload(browser, mem0("Likes figs"))

        assert answer.status_code == 409
        assert "Another file is being imported." in words_of(answer)

    def test_applying_twice_is_said(self, browser, alice):
        batch = brought(alice, mem0("Likes tea"), is_preview=True)
        applied(alice, batch)

        answer = post(browser, "apply", batch)

        assert "Only an import that was read and waits" in words_of(browser.get(answer["Location"]))


class TestList:
    def test_more_imports_take_no_more_queries(self, browser, alice, django_assert_num_queries):
        brought(alice, mem0("Likes tea"))
        with CaptureQueriesContext(connection) as with_one:
            browser.get(DATA)
        for _ in range(60):
            ImportBatch.objects.create(user=alice, created_at=timezone.now(), status="done", format="claude")

        with django_assert_num_queries(len(with_one)):
            shown = browser.get(DATA)

        assert len(shown.context["imports"]) == 50
        assert len(shown.content) < 100_000

    def test_bob_finds_none_of_alices(self, client, alice, bob):
        batch = brought(alice, mem0("Likes tea"), is_preview=True)
        client.force_login(bob)

        answers = [client.get(page(batch)), post(client, "apply", batch), post(client, "undo", batch)]

        assert [answer.status_code for answer in answers] == [404, 404, 404]
        assert "mem0</a>" not in client.get(DATA).content.decode()

    def test_an_admin_carries_nobodys_data(self, staff, alice):
        batch = brought(alice, mem0("Likes tea"), is_preview=True)
        open_memory(staff, alice)
        form = {"person": str(alice.id)}

        answers = [
            staff.get(DATA),
            staff.get(page(batch)),
            staff.post(reverse("inspector:export"), form),
            staff.post(reverse("inspector:import_apply", args=[batch.id]), form),
        ]

        assert [answer.status_code for answer in answers] == [403, 403, 403, 403]
