"""What an archive may say of itself: only what this installation signed is believed as it stands."""

import io
import json
from datetime import timedelta
from zipfile import ZipFile

import pytest
from django.test import Client
from django.utils import timezone

from memoryapp.longterm import operations as longterm
from memoryapp.longterm.models import Experience, Memory
from memoryapp.longterm.operations import Candidate
from memoryapp.policies.trust import INITIAL_CONFIDENCE, Origin
from memoryapp.portability.models import ImportBatch
from memoryapp.scratchpad.models import Run
from memoryapp.transcript.models import Conversation, Turn
from tests.portability.archives import archive_of, member
from tests.portability.bringing import brought
from tests.world import everything_of

pytestmark = pytest.mark.django_db(transaction=True, serialized_rollback=True)

CARD = "My card is 4111 1111 1111 1111"


def repacked(archive: bytes, change, *, is_signed=True) -> bytes:
    """With other text in ``strata.json``; ``is_signed``: with the signature that it had."""
    written = io.BytesIO()
    with ZipFile(written, "w") as new:
        new.writestr("strata.json", change(member(archive, "strata.json")))
        if is_signed:
            new.writestr("signature.txt", member(archive, "signature.txt"))
    return written.getvalue()


def resigned(archive: bytes, change) -> bytes:
    """As if this installation had written it so."""
    from memoryapp.portability.archive_writing import seal

    own = seal()
    text = change(member(archive, "strata.json"))
    own.update(text.encode())
    written = io.BytesIO()
    with ZipFile(written, "w") as new:
        new.writestr("strata.json", text)
        new.writestr("signature.txt", own.hexdigest())
    return written.getvalue()


def records_changed(change):
    """A change of every record of a line; the others stay byte for byte."""

    def changed(text):
        return "\n".join(map(line_changed, text.split("\n")))

    def line_changed(line):
        bare = line.removesuffix(",")
        if not (bare.startswith('{"') and bare.endswith("}")):
            return line
        record = json.loads(bare)
        change(record)
        return json.dumps(record) + line[len(bare) :]

    return changed


def kept_for_ever(user) -> bytes:
    Memory.objects.filter(user=user, status="active").update(is_kept=True)
    return archive_of(user)


def said(user, statement, **values):
    return longterm.remember(
        user.id,
        Candidate(
            kind="preference",
            statement=statement,
            origin=Origin.USER_TYPED,
            channel=Memory.Channel.API,
            said_at=timezone.now(),
            **values,
        ),
    ).memory


def test_an_archive_of_this_installation_keeps_origin_confidence_and_what_is_kept(alice, bob):
    everything_of(alice)

    batch = brought(bob, kept_for_ever(alice))

    memory = Memory.objects.get(user=bob)
    assert batch.is_restore
    assert (memory.origin, memory.is_kept) == (Origin.USER_TYPED, True)
    assert memory.confidence > INITIAL_CONFIDENCE[Origin.IMPORTED]


@pytest.mark.parametrize(
    "forged",
    [
        lambda archive: repacked(archive, lambda text: text, is_signed=False),
        lambda archive: repacked(archive, lambda text: text.replace("bitter", "sweet")),
    ],
    ids=["not signed", "changed after it was signed"],
)
def test_any_other_is_an_import_like_one_of_another_chat(alice, bob, forged):
    everything_of(alice)
    Run.objects.filter(user=alice).update(is_kept=True)
    Experience.objects.filter(user=alice).update(confidence=0.99, confirmed_at=timezone.now())

    batch = brought(bob, forged(kept_for_ever(alice)))

    memory, lesson = Memory.objects.get(user=bob), Experience.objects.get(user=bob)
    assert batch.status == ImportBatch.Status.DONE, batch.error_message
    assert not batch.is_restore
    assert (memory.origin, memory.channel, memory.is_kept) == (Origin.IMPORTED, "import", False)
    assert memory.confidence <= INITIAL_CONFIDENCE[Origin.IMPORTED]
    assert (lesson.origin, lesson.confirmed_at) == (Origin.IMPORTED, None)
    assert lesson.confidence <= INITIAL_CONFIDENCE[Origin.IMPORTED]
    assert not Run.objects.get(user=bob).is_kept


def test_an_archive_of_another_installation_is_not_believed(alice, bob, settings):
    everything_of(alice)
    archive = archive_of(alice)
    settings.SECRET_KEY = "another-" + "y" * 50

    batch = brought(bob, archive)

    assert batch.status == ImportBatch.Status.DONE
    assert not batch.is_restore


def test_everything_of_an_import_is_as_little_trusted_as_an_import(alice, bob):
    everything_of(alice)

    brought(bob, repacked(archive_of(alice), lambda text: text, is_signed=False))

    turn = Turn.objects.get(user=bob)
    assert turn.taint == Origin.IMPORTED
    assert turn.conversation.summaries.get().taint == Origin.IMPORTED
    assert [step.origin for step in turn.run.steps.all()] == [Origin.IMPORTED]
    assert [point.taint for point in turn.run.checkpoints.all()] == [Origin.IMPORTED]


def test_what_is_less_trusted_than_an_import_stays_so(alice, bob):
    everything_of(alice)
    Turn.objects.filter(user=alice).update(taint=Origin.UNTRUSTED)

    brought(bob, repacked(archive_of(alice), lambda text: text, is_signed=False))

    assert Turn.objects.get(user=bob).taint == Origin.UNTRUSTED


@pytest.mark.parametrize("pack", [repacked, resigned], ids=["not believed", "signed"])
def test_a_turn_of_no_trust_at_all_is_damage(alice, bob, pack):
    everything_of(alice)

    def without_taint(record):
        if "messages" in record:
            record["taint"] = ""

    batch = brought(bob, pack(archive_of(alice), records_changed(without_taint)))

    assert batch.error_code == "damaged_archive"
    assert "taint" in batch.error_message


@pytest.mark.parametrize("pack", [repacked, resigned], ids=["not believed", "signed"])
@pytest.mark.parametrize(
    ("statement", "reason"),
    [(CARD, "secret_refused"), ("Likes tea. " * 100_000, "too_long")],
    ids=["a secret", "a million characters"],
)
def test_no_archive_brings_a_secret_or_a_statement_without_end(alice, bob, pack, statement, reason):
    said(alice, "Likes tea")

    def worded(record):
        if "statement" in record:
            record["statement"] = statement

    batch = brought(bob, pack(archive_of(alice), records_changed(worded)))

    assert not Memory.objects.filter(user=bob).exists()
    if batch.status == ImportBatch.Status.DONE:
        assert (batch.counts, batch.skipped[reason]) == ({"skipped": {"memory": 1}}, 1)
    else:
        assert batch.error_code == "damaged_archive"


@pytest.mark.parametrize("pack", [repacked, resigned], ids=["not believed", "signed"])
def test_a_secret_in_a_former_wording_or_a_lesson_is_left_out(alice, bob, pack):
    everything_of(alice)

    def worded(record):
        for version in record.get("versions", [])[-1:]:
            version["statement"] = CARD
        if "worked" in record:
            record["worked"] = CARD

    batch = brought(bob, pack(archive_of(alice), records_changed(worded)))

    assert batch.status == ImportBatch.Status.DONE, batch.error_message
    assert batch.counts == {"new": {"conversation": 1}, "skipped": {"memory": 1, "experience": 1}}
    assert not Memory.objects.filter(user=bob).exists()
    assert not Experience.objects.filter(user=bob).exists()


def test_a_former_value_points_at_nothing_where_what_replaced_it_is_left_out(alice, bob):
    said(alice, "I live in Lisbon", key="home.city")
    said(alice, "I live in Porto", key="home.city")

    def worded(record):
        if record.get("status") == "active":
            record["statement"] = CARD

    batch = brought(bob, resigned(archive_of(alice), records_changed(worded)))

    assert batch.status == ImportBatch.Status.DONE, batch.error_message
    assert Memory.objects.get(user=bob).superseded_by is None


def test_an_end_in_a_file_shortens_a_life_and_lengthens_none(alice, bob):
    soon, late = said(alice, "Likes tea"), said(alice, "Has a parrot")
    Memory.objects.filter(id=soon.id).update(expires_at=timezone.now() + timedelta(days=2))
    Memory.objects.filter(id=late.id).update(expires_at=timezone.now() + timedelta(days=9999))
    before = Memory.objects.get(id=soon.id).expires_at

    brought(bob, repacked(archive_of(alice), lambda text: text, is_signed=False))

    ends = dict(Memory.objects.filter(user=bob).values_list("statement", "expires_at"))
    assert ends == {"Likes tea": before, "Has a parrot": None}


def test_a_conversation_of_the_future_is_of_today(alice, bob):
    everything_of(alice)
    future = timezone.now() + timedelta(days=9999)
    Conversation.objects.filter(user=alice).update(updated_at=future)

    brought(bob, repacked(archive_of(alice), lambda text: text, is_signed=False))

    assert Conversation.objects.get(user=bob).updated_at <= timezone.now()


NO_PAD = {"goal": 7}
DEEP: list = []
for _ in range(100):
    DEEP = [DEEP]


def in_run(name, value):
    def change(record):
        if record.get("run"):
            record["run"][name] = value

    return change


def in_rows_of_run(rows, name, value):
    def change(record):
        for row in (record.get("run") or {}).get(rows, []):
            row[name] = value

    return change


def in_snapshots(name, value):
    def change(record):
        for row in record.get("snapshots", []):
            row[name] = value

    return change


def in_memories(name, value):
    def change(record):
        if "statement" in record:
            record[name] = value

    return change


CRAFTED = {
    "a pad of another shape": in_run("pad", NO_PAD),
    "a pad that is a list": in_run("pad", []),
    "limits that are words": in_run("limits", {"tokens": "many"}),
    "a limit without end": in_run("limits", {"seconds": 1e300}),
    "arguments that are a list": in_rows_of_run("steps", "arguments", [1]),
    "arguments without a floor": in_rows_of_run("steps", "arguments", {"a": DEEP}),
    "a delta of no messages": in_rows_of_run("checkpoints", "delta", [{"text": "hello"}]),
    "a delta of a number": in_rows_of_run("checkpoints", "delta", 7),
    "a block of an unknown type": in_rows_of_run(
        "checkpoints", "delta", [{"role": "user", "blocks": [{"type": "video"}]}]
    ),
    "what is asked with no name": in_rows_of_run("approvals", "arguments", "all"),
    "a tool trusted by its own word": in_rows_of_run("steps", "origin", "god"),
    "sections without tokens": in_snapshots("sections", [{"name": "system"}]),
    "what was recalled without a reason": in_snapshots("recalled", [{"included": True}]),
    "an id that is none": in_snapshots(
        "recalled",
        [
            {
                "memory_id": "⟦memory:none⟧",
                "arms": {},
                "confidence": None,
                "score": 0,
                "included": True,
                "reason": "relevant",
            }
        ],
    ),
    "a number without end": in_memories("confidence", float("inf")),
    "a version that no column holds": in_memories("version", 10**12),
    "a key that no column holds": in_memories("key", "k" * 10_000),
    "versions that are no list": in_memories("versions", {"0": 1}),
    "tools that are numbers": lambda record: "worked" in record and record.update(tools=[1]),
    "a temporary chat that is remembered": lambda record: (
        "is_temporary" in record and record.update(is_temporary=True, save_memory=True)
    ),
}


@pytest.mark.parametrize("is_merge", [False, True], ids=["restored", "merged"])
@pytest.mark.parametrize("name", CRAFTED)
def test_what_no_page_could_show_is_refused_with_its_line(alice, bob, name, is_merge):
    everything_of(alice)
    if is_merge:
        said(bob, "Likes tea")
    before = Memory.objects.filter(user=bob).count()
    archive = archive_of(alice)
    change = records_changed(CRAFTED[name])
    if name.startswith("a temporary"):
        change = head_changed

    batch = brought(bob, resigned(archive, change))

    assert batch.error_code == "damaged_archive", batch.counts
    assert "line " in batch.error_message
    assert Memory.objects.filter(user=bob).count() == before
    assert not Conversation.objects.filter(user=bob).exists()


def head_changed(text):
    return text.replace('"is_temporary":false', '"is_temporary":true')


def test_the_line_is_the_one_in_the_file(alice, bob):
    everything_of(alice)
    change = records_changed(CRAFTED["a pad of another shape"])
    archive = resigned(archive_of(alice), change)
    number = next(
        n for n, line in enumerate(member(archive, "strata.json").splitlines(), 1) if '"goal": 7' in line
    )

    assert f"line {number} of strata.json" in brought(bob, archive).error_message


def test_pages_of_a_restored_chat_and_its_run_open(alice, bob):
    everything_of(alice)
    brought(bob, archive_of(alice))
    turn = Turn.objects.get(user=bob)
    browser = Client()
    browser.force_login(bob)

    for path in (f"/c/{turn.conversation_id}/", f"/memory/runs/{turn.run.id}/", "/memory/"):
        assert browser.get(path, follow=True).status_code == 200, path
    assert browser.get(f"/api/v1/turns/{turn.id}/context").status_code == 200


def test_every_json_column_of_an_archive_has_a_shape():
    from django.db.models import JSONField

    from memoryapp.portability.shapes import SHAPES
    from memoryapp.portability.tables import TABLES

    columns = {
        (table.name, name)
        for table in TABLES
        for name in table.kept
        if isinstance(table.model._meta.get_field(name), JSONField)
    }

    assert set(SHAPES) == columns
