"""What a browser keeps on its disk of pages that showed something: looked through like a server's files."""

import re
import shutil
import threading
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest
from playwright.sync_api import sync_playwright

from memoryapp.proof import doors, installing, stores
from memoryapp.proof.canaries import Canaries
from memoryapp.proof.people import Person
from memoryapp.proof.scanning import Scanner
from tests.chromium import ARGUMENTS
from tests.servers import copy, migrated, throw_away_directory

pytestmark = [pytest.mark.browser, pytest.mark.stack]

CANARIES = Canaries(5)
KEEP = """
async (word) => {
  localStorage.setItem("word", word);
  await (await caches.open("pages")).put("/cached", new Response(word));
  await new Promise((resolve) => {
    const opening = indexedDB.open("words", 1);
    opening.onupgradeneeded = () => opening.result.createObjectStore("words");
    opening.onsuccess = () => {
      const change = opening.result.transaction("words", "readwrite");
      change.objectStore("words").put(word, "word");
      change.oncomplete = resolve;
    };
  });
}
"""


@contextmanager
def browsing(profile):
    """A Chromium with its things in ``profile``, which are all on the disk once it is closed."""
    path = shutil.which("chromium") or shutil.which("chromium-browser")
    if path is None:
        pytest.skip("Chromium is not installed (on Debian: apt-get install chromium)")
    with sync_playwright() as playwright:
        context = playwright.chromium.launch_persistent_context(profile, executable_path=path, args=ARGUMENTS)
        yield context
        context.close()


@contextmanager
def serving(page: str):
    class Handler(BaseHTTPRequestHandler):
        def do_GET(self):
            self.send_response(200)
            self.send_header("Content-Type", "text/html")
            self.send_header("Cache-Control", "max-age=3600")
            self.end_headers()
            self.wfile.write(page.encode())

        def log_message(self, *_args):
            """Silence."""

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    yield f"http://127.0.0.1:{server.server_port}/"
    server.shutdown()
    server.server_close()
    thread.join()


def places(profile, stem):
    """In which of a browser's stores it is."""
    found = stores.browser(profile).scan(Scanner(stem)).places.get(stem, {})
    return {part for place in found for part in re.split(r"[/ ]", place) if part and not part.startswith("(")}


def test_what_a_page_keeps_is_found_wherever_it_keeps_it(tmp_path):
    word = CANARIES.control.word
    profile = tmp_path / "profile"

    with serving(f"<title>{word}</title><p>{word}"[:40]) as url, browsing(profile) as context:
        page = context.new_page()
        page.goto(url)
        page.evaluate(KEEP, word)

    found = places(profile, CANARIES.control_stem)
    assert found >= {"History", "Local", "IndexedDB", "CacheStorage", "Cache_Data"}


def test_the_pages_of_a_chat_leave_nothing_of_it_in_the_browser(tmp_path, monkeypatch):
    ready = migrated()

    @contextmanager
    def migrated_directory():
        with throw_away_directory() as directory:
            copy(ready, directory)
            yield directory

    monkeypatch.setattr(installing, "throw_away_directory", migrated_directory)
    profile = tmp_path / "profile"
    with installing.standing(5, variables={"STRATA_BUNDLED_MODEL": "use"}) as place:
        (told,) = doors.through_all(place, only=["remember tool"])
        conversation_id = told.all("conversation_id")[0]
        # Where a person looked, by title and address, their browser keeps whatever a server says.
        place.alice.call("PATCH", f"/conversations/{conversation_id}", {"title": "Boats"})
        with browsing(profile) as context:
            context.add_cookies(_cookies(place.alice))
            page = context.new_page()
            for path in (f"/c/{conversation_id}/", "/memory/facts/", "/memory/"):
                page.goto(f"http://127.0.0.1:{place.alice.port}{path}")
                page.wait_for_load_state("load")
            assert told.canary.word in page.content()

        assert places(profile, place.canaries.stem) == set()


def _cookies(person: Person):
    return [
        {"name": name, "value": value, "domain": "127.0.0.1", "path": "/"}
        for name, value in person._cookies.items()
    ]
