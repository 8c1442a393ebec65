"""Every door by which something gets into an installation, each with a word of its own."""

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final, LiteralString

from memoryapp.bench.installation import BenchFailedError
from memoryapp.proof.canaries import Canary
from memoryapp.proof.echoing_model import Cue
from memoryapp.proof.installing import Place
from memoryapp.proof.note_server import SLUG
from memoryapp.proof.people import Person

_ENDED: Final = ("completed", "failed", "interrupted", "cancelled")
# So that a summary is shorter than what it is made of, and a long message longer than a row may be.
_FILLER: Final = "The tide comes in, the boats rise, and nobody on the quay is in a hurry today. "
_DOCUMENT_LINES: Final = 120


@dataclass(slots=True)
class Entered:
    """What one word was told by, and what came of it: ids by the name that addresses give them."""

    canary: Canary
    ids: dict[str, list[str]] = field(default_factory=dict)
    # What the person would ask to find it again, without the word.
    question: str = ""

    @property
    def door(self) -> str:
        return self.canary.door

    def all(self, name: str) -> Sequence[str]:
        return self.ids.get(name, [])

    def note(self, name: str, id_: str | None) -> None:
        if id_ and id_ not in self.ids.setdefault(name, []):
            self.ids[name].append(id_)


def through_all(place: Place, *, only: Sequence[str] = ()) -> list[Entered]:
    """Tell Alice's word at each door, one after the other; ``only``: at these."""
    return [enter(place) for door, enter in DOORS.items() if not only or door in only]


def talk(place: Place, person: Person, text: str, *, conversation_id: str = "") -> dict[str, Any]:
    """A message, and its turn once it has ended, whichever way."""
    if not conversation_id:
        conversation_id = person.call("POST", "/conversations", {}).json["id"]
    posted = person.call("POST", f"/conversations/{conversation_id}/turns", {"text": text}).json
    turn: dict[str, Any] = {}

    def has_ended() -> bool:
        turn.update(person.call("GET", f"/turns/{posted['id']}").json)
        if turn["status"] == "waiting":
            _approve(person, turn)
        return turn["status"] in _ENDED

    place.require(has_ended, f"a reply to '{text[:20]}…' ends")
    return turn


def wait_until_read(place: Place) -> None:
    """Until the background has read all that was said: what changes while it reads is read again later."""
    place.require(lambda: not place.rows(_UNREAD)[0][0], "every message was read for what to remember")


_UNREAD: LiteralString = (
    "SELECT count(*) FROM transcript_message WHERE role = 'user' AND extracted_at IS NULL"
)


def _approve(person: Person, turn: Mapping[str, Any]) -> None:
    """Whatever it asks for."""
    for asked in turn["waiting"]["approvals"]:
        path = f"/turns/{turn['id']}/approvals/{asked['tool_use_id']}"
        person.call("POST", path, {"approve": True})


def _said(place: Place, door: str, text: str, *, question: str = "", conversation_id: str = "") -> Entered:
    entered = Entered(place.canaries.of(door), question=question)
    note_turn(entered, talk(place, place.alice, text, conversation_id=conversation_id))
    return entered


def note_turn(entered: Entered, turn: dict[str, Any]) -> None:
    entered.note("turn_id", turn["id"])
    entered.note("conversation_id", turn["conversation_id"])
    entered.note("message_id", turn["user_message_id"])
    entered.note("message_id", turn["reply_message_id"])
    entered.note("run_id", turn["run_id"])


def _message(place: Place) -> Entered:
    word = place.canaries.of("message").word
    text = f"The lighthouse that I like best is called {word}. {_FILLER * 8}"
    return _said(place, "message", text, question="Which lighthouse do I like best?")


def _remember_tool(place: Place) -> Entered:
    word = place.canaries.of("remember tool").word
    text = f"{Cue.REMEMBER}My rowing boat is called {word}"
    return _said(place, "remember tool", text, question="What is my rowing boat called?")


def _extraction(place: Place) -> Entered:
    word = place.canaries.of("extraction").word
    text = f"Good morning.\n{Cue.FOR_LATER}My grandmother's house is called {word}"
    return _said(place, "extraction", text, question="What is my grandmother's house called?")


def _api(place: Place) -> Entered:
    entered = Entered(place.canaries.of("API"), question="Which violin do I play?")
    statement = f"Plays a violin by {entered.canary.word}"
    made = place.alice.call("POST", "/memories", {"statement": statement, "kind": "preference"}).json
    entered.note("memory_id", made["id"])
    return entered


def _inspector(place: Place) -> Entered:
    entered = Entered(place.canaries.of("inspector"), question="Where do I go skiing?")
    statement = f"Goes skiing in {entered.canary.word} every winter"
    form = {"statement": statement, "kind": "preference", "key": ""}
    added = place.alice.post("/memory/facts/add/", form)
    entered.note("memory_id", added.location.rstrip("/").rpartition("/")[2])
    return entered


def _former_value(place: Place) -> Entered:
    """It is what a memory said before it was edited."""
    entered = Entered(place.canaries.of("former value"), question="Who cuts my hair?")
    statement = f"Has the hair cut by {entered.canary.word}"
    made = place.alice.call("POST", "/memories", {"statement": statement, "kind": "preference"}).json
    path = f"/memories/{made['id']}"
    place.alice.call(
        "PATCH", path, {"statement": "Has the hair cut by nobody"}, If_Match=f'"{made["version"]}"'
    )
    entered.note("memory_id", made["id"])
    return entered


def _document(place: Place) -> Entered:
    """Pasted: what a stranger wrote, longer than what PostgreSQL keeps uncompressed."""
    word = place.canaries.of("document").word
    quoted = "\n".join(f"> {line} {_FILLER}" for line in range(_DOCUMENT_LINES))
    text = f"What do you make of this?\n{quoted}\n> Remember that the treasure is called {word}.\n{quoted}"
    return _said(place, "document", text, question="What is the treasure called?")


def _tool_result(place: Place) -> Entered:
    """It is in the tool's answer alone."""
    word = place.canaries.of("tool result").word
    return _said(place, "tool result", f"{Cue.READ_NOTE}{word[::-1]}", question="What does the note say?")


def _server_result(place: Place) -> Entered:
    """In the answer of another server's tool alone, for which a person said yes."""
    word = place.canaries.of("MCP server").word
    server = {"slug": SLUG, "name": "Notes", "url": place.note_server}
    server_id = place.admin.call("POST", "/mcp/servers", server).json["id"]
    conversation_id = place.alice.call("POST", "/conversations", {}).json["id"]
    place.alice.call("PUT", f"/conversations/{conversation_id}/servers/{server_id}", {"is_on": True})
    text = f"{Cue.ASK_SERVER}{word[::-1]}"
    question = "What does the letter say?"
    return _said(place, "MCP server", text, question=question, conversation_id=conversation_id)


def _run(place: Place) -> Entered:
    """Goal, arguments, plan and lesson of a run of several steps."""
    word = place.canaries.of("run").word
    text = f"{Cue.WORK_OUT}how to sail to {word} on one tank of fuel"
    return _said(place, "run", text, question="How do I sail there on one tank of fuel?")


def _title(place: Place) -> Entered:
    """By hand: nothing that was said holds it."""
    entered = _said(place, "title", f"Let us plan a voyage. {_FILLER}", question="Which voyage did we plan?")
    title = f"Voyage to {entered.canary.word}"
    place.alice.call("PATCH", f"/conversations/{entered.all('conversation_id')[0]}", {"title": title})
    return entered


def _pinned_line(place: Place) -> Entered:
    word = place.canaries.of("pinned line").word
    line = f"Never sail past the buoy {word}."
    entered = _said(place, "pinned line", f"{line} {_FILLER}", question="Which buoy do I never sail past?")
    body = {"turn_id": entered.all("turn_id")[0], "text": line}
    place.alice.call("POST", f"/conversations/{entered.all('conversation_id')[0]}/pins", body)
    return entered


def _summary(place: Place) -> Entered:
    """Said in an early turn, so that the summary of the older ones holds it."""
    word = place.canaries.of("summary").word
    text = f"My uncle's farm is called {word}. {_FILLER * 8}"
    entered = _said(place, "summary", text, question="What is my uncle's farm called?")
    conversation_id = entered.all("conversation_id")[0]
    for number in range(2):
        text = f"Tell me more of it, part {number}. {_FILLER * 8}"
        note_turn(entered, talk(place, place.alice, text, conversation_id=conversation_id))
    return entered


def _correction(place: Place) -> Entered:
    """What a message said before it was corrected. A reply that had repeated it would go on saying it."""
    word = place.canaries.of("correction").word
    text = f"{Cue.LISTEN}My cousin moved to {word} in spring. {_FILLER}"
    entered = _said(place, "correction", text, question="Where did my cousin move to?")
    wait_until_read(place)
    body = {"text": f"{Cue.LISTEN}My cousin moved in spring. {_FILLER}"}
    place.alice.call("PATCH", f"/messages/{entered.all('message_id')[0]}", body)
    return entered


def _failure(place: Place) -> Entered:
    """In a reply that the provider broke off, with an error that quotes it."""
    word = place.canaries.of("failure").word
    return _said(place, "failure", f"{Cue.BREAK_OFF}the cape of {word}", question="Which cape was it?")


def _search(place: Place) -> Entered:
    """What a person looks for: in addresses, bodies and forms."""
    entered = Entered(place.canaries.of("search"))
    word = entered.canary.word
    place.alice.call("POST", "/memories/search", {"query": f"Where is {word}?"})
    place.alice.read(f"/api/v1/memories?q={word}")
    for path in ("/memory/facts/", "/conversations/", "/memory/conversations/"):
        place.alice.get(f"{path}?q={word}")
    place.alice.post("/memory/try/", {"text": f"I live in {word} by the sea."})
    return entered


def _imported_fact(place: Place) -> Entered:
    """In a file of another program's memories."""
    entered = Entered(place.canaries.of("imported fact"), question="Which choir do I sing in?")
    memory = f"Sings in the choir of {entered.canary.word}"
    told = [{"id": "1", "memory": memory, "user_id": "alice", "created_at": "2026-03-01T10:00:00Z"}]
    _bring(place, "mem0.json", told)
    return entered


def _imported_conversation(place: Place) -> Entered:
    """In a file of another chat."""
    entered = Entered(
        place.canaries.of("imported conversation"), question="Which mountain do I want to climb?"
    )
    word = entered.canary.word
    said = {"author": {"role": "user"}, "create_time": 1_772_000_000.0, "id": "m1"}
    content = {"content_type": "text", "parts": [f"I want to climb the mountain {word}. {_FILLER}"]}
    node: dict[str, Any] = {
        "id": "n1",
        "parent": None,
        "children": [],
        "message": {**said, "content": content},
    }
    told = {"id": "c1", "title": f"Climbing {word}", "create_time": 1_772_000_000.0, "current_node": "n1"}
    _bring(place, "conversations.json", [{**told, "mapping": {"n1": node}}])
    for conversation_id, turn_id, message_id in place.rows(_SAYING, f"%{word}%"):
        entered.note("conversation_id", conversation_id)
        entered.note("turn_id", turn_id)
        entered.note("message_id", message_id)
    return entered


_SAYING: LiteralString = """
SELECT t.conversation_id::text, t.id::text, m.id::text
FROM transcript_message m JOIN transcript_turn t ON t.id = m.turn_id WHERE m.text LIKE %s ORDER BY m.id
"""


def _bring(place: Place, name: str, told: object) -> None:
    batch = place.alice.upload("/import", name=name, content=json.dumps(told).encode()).json

    def is_done() -> bool:
        batch.update(place.alice.call("GET", f"/imports/{batch['id']}").json)
        return batch["status"] in {"done", "failed"}

    place.require(is_done, "an import ends")
    if batch["status"] != "done":
        raise BenchFailedError(f"The import of {name} failed: {batch['error_code']}")


DOORS: Final[dict[str, Callable[[Place], Entered]]] = {
    "message": _message,
    "remember tool": _remember_tool,
    "extraction": _extraction,
    "API": _api,
    "inspector": _inspector,
    "former value": _former_value,
    "document": _document,
    "tool result": _tool_result,
    "MCP server": _server_result,
    "run": _run,
    "title": _title,
    "pinned line": _pinned_line,
    "summary": _summary,
    "correction": _correction,
    "failure": _failure,
    "imported fact": _imported_fact,
    "imported conversation": _imported_conversation,
    "search": _search,
}
# Of these nothing is kept in the first place.
UNKEPT: Final = ("correction", "search")
