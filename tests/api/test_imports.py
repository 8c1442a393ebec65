"""The archive and what people bring, by program: what comes back, what is refused and how, and nobody else's."""

import io
import json
from zipfile import ZipFile

import pytest
from django.core.files.uploadedfile import SimpleUploadedFile
from django.test import Client

from memoryapp.longterm.models import Memory
from memoryapp.portability import importing, operations
from memoryapp.portability.models import ImportBatch, ImportFile
from tests.api.requests import BASE, assert_problem
from tests.portability.archives import archive_of
from tests.portability.bringing import mem0
from tests.turns import COMMITTED
from tests.world import CONTENT, everything_of

UNKNOWN = "00000000-0000-4000-8000-000000000000"  # the same in every process of a run
pytestmark = COMMITTED

FACTS = mem0("Likes tea", "Has a parrot")


def send(program, file=FACTS, *, path="/import", **fields):
    return program.post(BASE + path, {"file": SimpleUploadedFile("export.json", file), **fields})


def worked(program, answer):
    """What the API tells of it once a worker is through."""
    assert answer.status_code == 202, answer.content
    importing.work(answer.json()["id"])
    return program.get(f"{BASE}/imports/{answer.json()['id']}").json()


def test_the_archive_comes_as_a_file(api, alice):
    everything_of(alice)

    answer = api.get(f"{BASE}/export")

    whole = b"".join(blocks(answer))
    assert answer["Content-Type"] == "application/zip"
    assert 'filename="strata-export.zip"' in answer["Content-Disposition"]
    assert answer["Cache-Control"] == "no-store"
    assert len(whole) == int(answer["Content-Length"])
    with ZipFile(io.BytesIO(whole)) as archive:
        assert set(archive.namelist()) == {
            "strata.json",
            "signature.txt",
            "account.json",
            "index.html",
            "README.txt",
        }
        assert CONTENT in archive.read("strata.json").decode()


def blocks(answer):
    from asgiref.sync import async_to_sync

    async def collected():
        return [block async for block in answer.streaming_content]

    return async_to_sync(collected)()


def test_what_was_exported_is_imported_by_another_program(api, bobs_api, alice):
    everything_of(alice)
    whole = b"".join(blocks(api.get(f"{BASE}/export")))

    told = worked(bobs_api, send(bobs_api, whole))

    assert (told["status"], told["format"], told["is_restore"]) == ("done", "strata", True)
    assert told["counts"] == {"new": {"conversation": 1, "memory": 1, "experience": 1}}
    assert told["position"] == told["total"] > 3


def test_a_file_is_read_brought_in_and_taken_back(api, alice):
    told = worked(api, send(api))
    assert (told["status"], told["counts"]) == ("done", {"new": {"memory": 2}})
    assert Memory.objects.filter(user=alice).count() == 2

    undone = api.post(f"{BASE}/imports/{told['id']}/undo")

    assert (undone.status_code, undone.json()["status"]) == (200, "undone")
    assert undone.json()["undone_at"]
    assert not Memory.objects.filter(user=alice).exists()
    problem = assert_problem(api.post(f"{BASE}/imports/{told['id']}/undo"), 409, "import_not_ready")
    assert problem["import_status"] == "undone"


def test_a_preview_waits_for_its_person_and_shows_samples(api, alice):
    told = worked(api, send(api, preview="true"))
    assert (told["status"], told["counts"]) == ("ready", {"new": {"memory": 2}})
    assert [sample["text"] for sample in told["samples"]["new"]] == ["Likes tea", "Has a parrot"]
    assert not Memory.objects.filter(user=alice).exists()

    done = worked(api, api.post(f"{BASE}/imports/{told['id']}/apply"))

    assert (done["status"], done["samples"]) == ("done", {})
    assert Memory.objects.filter(user=alice).count() == 2
    assert not ImportFile.objects.filter(user=alice).exists()
    assert_problem(api.post(f"{BASE}/imports/{told['id']}/apply"), 409, "import_not_ready")


def test_imports_are_listed_newest_first(api):
    ids = [worked(api, send(api))["id"] for _ in range(3)]

    first = api.get(f"{BASE}/imports?limit=2").json()
    rest = api.get(f"{BASE}/imports?limit=2&cursor={first['next_cursor']}").json()

    assert [one["id"] for one in (*first["items"], *rest["items"])] == ids[::-1]
    assert rest["next_cursor"] is None


def test_a_stranger_sees_and_does_nothing(api, bobs_api, alice):
    told = worked(api, send(api, preview="true"))
    path = f"{BASE}/imports/{told['id']}"

    for answer in (bobs_api.get(path), bobs_api.post(f"{path}/apply"), bobs_api.post(f"{path}/undo")):
        assert_problem(answer, 404, "not_found")

    assert bobs_api.get(f"{BASE}/imports").json()["items"] == []
    assert ImportBatch.objects.get(user=alice).status == "ready"


@pytest.mark.parametrize("path", ["/import", "/export", "/imports", f"/imports/{UNKNOWN}"])
def test_nobody_without_a_token(path):
    client = Client()
    answer = send(client) if path == "/import" else client.get(BASE + path)

    assert_problem(answer, 401)
    assert not ImportBatch.objects.exists()


def test_a_file_that_is_too_large_is_not_kept(api, configure):
    configure(STRATA_IMPORT_MAX_MB="1")

    problem = assert_problem(send(api, b"x" * (1024 * 1024 + 1)), 413, "import_too_big")

    assert "1 MB" in problem["detail"]
    assert not ImportBatch.objects.exists()


def test_a_file_of_the_largest_size_is_taken(api, configure):
    configure(STRATA_IMPORT_MAX_MB="1")

    assert send(api, b"x" * 1024 * 1024).status_code == 202


def test_an_empty_file_is_refused(api):
    assert_problem(send(api, b""), 422)
    assert not ImportBatch.objects.exists()


def test_one_file_at_a_time(api):
    busy = send(api).json()

    problem = assert_problem(send(api), 409, "import_in_progress")

    assert problem["import_id"] == busy["id"]


def test_files_that_wait_are_few_and_the_refusal_says_what_to_do(api, bobs_api):
    ids = [worked(api, send(api, preview="true"))["id"] for _ in range(operations.WAITING_MOST)]

    problem = assert_problem(send(api, preview="true"), 409, "too_many_imports_waiting")

    assert "take one back" in problem["detail"]
    assert send(bobs_api, preview="true").status_code == 202
    api.post(f"{BASE}/imports/{ids[0]}/undo")
    assert send(api, preview="true").status_code == 202


ODD = {
    "no file": {},
    "a file that is a word": {"file": "export.json"},
    "two words for one": {"file": SimpleUploadedFile("a", FACTS), "preview": ["true", "perhaps"]},
    "a preview that is neither": {"file": SimpleUploadedFile("a", FACTS), "preview": "perhaps"},
    "a preview of NUL": {"file": SimpleUploadedFile("a", FACTS), "preview": "\0"},
}


@pytest.mark.parametrize("name", ODD)
def test_odd_arguments_are_told_apart_from_our_mistakes(api, name):
    assert_problem(api.post(f"{BASE}/import", ODD[name]), 422)


@pytest.mark.parametrize(
    ("content", "content_type"),
    [
        (b"--x\r\nbroken", "multipart/form-data; boundary=x"),
        (b"--x\r\nbroken", "multipart/form-data"),
        (b"", "multipart/form-data; boundary=x"),
        (b"", "multipart/form-data; boundary=\xff"),
        (b'{"file": 7}', "application/json"),
        (b"file=7", "application/x-www-form-urlencoded"),
        (b"\xff\xfe", "text/plain; charset=none"),
    ],
)
def test_a_body_that_is_no_form_is_refused(api, content, content_type):
    answer = api.generic("POST", f"{BASE}/import", content, content_type=content_type)

    assert answer.status_code in {400, 422}, answer.content
    assert_problem(answer, answer.status_code)


@pytest.mark.parametrize(
    "query", ["limit=0", "limit=-1", "limit=9999999999999999999999", "limit=x", "cursor=%00", "cursor=bm8="]
)
def test_odd_pages_are_refused(api, query):
    assert_problem(api.get(f"{BASE}/imports?{query}"), 422)


@pytest.mark.parametrize("name", ["%00.json", "../../etc/passwd", "\u202ejson", ""])
def test_what_a_file_is_called_is_nothing_to_us(api, name):
    """The name is neither stored nor believed; a part without one is no file."""
    boundary = "----strata"
    body = (
        f'--{boundary}\r\nContent-Disposition: form-data; name="file"; filename="{name}"\r\n'
        f"Content-Type: application/json\r\n\r\n{FACTS.decode()}\r\n--{boundary}--\r\n"
    )

    answer = api.generic(
        "POST", f"{BASE}/import", body.encode(), content_type=f"multipart/form-data; boundary={boundary}"
    )

    assert answer.status_code == (202 if name else 422), answer.content


def test_a_form_whose_head_has_no_end_is_refused(api):
    body = (
        b'--x\r\nContent-Disposition: form-data; name="file"; filename="'
        + b"n" * 5000
        + b'"\r\n\r\n1\r\n--x--'
    )

    answer = api.generic("POST", f"{BASE}/import", body, content_type="multipart/form-data; boundary=x")

    assert_problem(answer, 400, "malformed_request")


def test_a_form_of_two_hundred_files_is_refused(api):
    files = [SimpleUploadedFile(f"{number}.json", FACTS) for number in range(200)]

    assert_problem(api.post(f"{BASE}/import", {"file": files}), 400, "malformed_request")


@pytest.mark.parametrize("id_", ["7", "x" * 3000, "%00", UNKNOWN])
@pytest.mark.parametrize("verb", ["", "/apply", "/undo"])
def test_an_id_that_is_none(api, id_, verb):
    answer = (api.post if verb else api.get)(f"{BASE}/imports/{id_}{verb}")

    assert answer.status_code == 404


def test_what_is_wrong_with_a_file_is_told(api):
    told = worked(api, send(api, json.dumps({"neither": "nor"}).encode()))

    assert told["status"] == "failed"
    assert told["error_code"]
    assert len(told["error_message"]) > 10


def test_an_archive_of_ones_own_brings_nothing_twice(api, alice):
    everything_of(alice)
    ImportBatch.objects.all().delete()

    told = worked(api, send(api, archive_of(alice)))

    assert told["counts"] == {"duplicate": {"conversation": 1, "memory": 1, "experience": 1}}
