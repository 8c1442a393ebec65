"""Everything by which people, programs, admins and the model read: no word may be in any of it once it is forgotten."""

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from typing import Final
from urllib.parse import quote

from memoryapp.proof.addresses import addresses_of_many
from memoryapp.proof.doors import Entered, note_turn, talk
from memoryapp.proof.echoing_model import Cue
from memoryapp.proof.installing import Place
from memoryapp.proof.people import Answer, Person
from memoryapp.proof.scanning import Scanner

# What leaves, sends mail, or is another program's.
_UNREAD: Final = ("/accounts/logout/", "/sign-in/", "/admin/logout/", "/admin/jsi18n/")
_API: Final = "/api/"
_ADMINS: Final = ("/memory/", "/policies/", "/admin/", "/metrics")
_LISTS: Final = (
    "/memory/facts/",
    "/memory/conversations/",
    "/memory/experiences/",
    "/conversations/",
    "/memory/runs/",
)
_RECORD: Final = re.compile(rb'href="(/admin/[^"]+/change/)')
_AT_ONCE: Final = 4
IDS_AT_MOST = 3  # of each sort, for each word
RECORDS_AT_MOST = 5  # of each page of the admin that lists some
_ID: Final = re.compile(r"[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}")


@dataclass(slots=True)
class Readings:
    """``paths``: how many were read. ``words``: path, with … for ids → the doors whose words it showed."""

    paths: int = 0
    bytes_: int = 0
    words: dict[str, set[str]] = field(default_factory=dict)

    @property
    def leaks(self) -> int:
        return len(self.words)

    @property
    def doors(self) -> set[str]:
        return set().union(*self.words.values())

    def take(self, path: str, answers: Iterable[bytes], scanner: Scanner, entered: Sequence[Entered]) -> None:
        self.paths += 1
        for body in answers:
            found = scanner.scan([body])
            self.bytes_ += found.bytes_
            if found.hits:
                shown = {each.door for each in entered if each.canary.word.encode() in body}
                known = self.words.setdefault(_ID.sub("…", path.partition("?")[0]), set())
                known.update(shown or {"in another encoding"})


def all_paths(place: Place, entered: Sequence[Entered], scanner: Scanner) -> Readings:
    """By every address there is, as their person and as an admin who opened their memory; and into a prompt."""
    readings = Readings()
    _open_to_admin(place)
    for who, address, answer in _answers(place, entered):
        readings.take(f"{who} GET {address}", [answer.body], scanner, entered)
    for each in entered:
        if each.question:
            _search(place, each, readings, scanner, entered)
    _ask_the_model(place, readings, scanner, entered)
    return readings


def _answers(place: Place, entered: Sequence[Entered]) -> Iterator[tuple[str, str, Answer]]:
    """A few at a time: the order is no matter, and a page waits for the database more than it works."""
    addresses = _wanted(place, entered)
    wanted = [(place.alice, address) for address in addresses]
    wanted += [(place.admin, address) for address in addresses if address.startswith(_ADMINS)]
    for each in entered:
        if each.question:
            wanted += [(place.alice, f"{page}?q={quote(each.question)}") for page in _LISTS]
    records: set[str] = set()
    with ThreadPoolExecutor(_AT_ONCE, thread_name_prefix="reading") as pool:
        for (person, address), answer in zip(wanted, pool.map(_read, wanted), strict=True):
            if person is place.admin and address.startswith("/admin/"):
                records.update(found.decode() for found in _RECORD.findall(answer.body)[:RECORDS_AT_MOST])
            yield person.name, address, answer
        admins = [(place.admin, address) for address in sorted(records)]
        for (person, address), answer in zip(admins, pool.map(_read, admins), strict=True):
            yield person.name, address, answer


def _read(wanted: tuple[Person, str]) -> Answer:
    person, address = wanted
    return person.read(address) if address.startswith(_API) else person.get(address)


def _wanted(place: Place, entered: Sequence[Entered]) -> list[str]:
    """With the ids of each word in turn: what came of one and what came of another meet in no address.

    The first ids are those of the door itself, then come later turns in which the word was recalled: one is as another.
    """
    always = {"user_id": [_user_id(place)], "slug": ["preference"], "version": ["1"]}
    found = {address for each in entered for address in addresses_of_many({**_first(each.ids), **always})}
    return sorted(address for address in found if not address.startswith(_UNREAD))


def _first(ids: Mapping[str, Sequence[str]]) -> dict[str, Sequence[str]]:
    return {name: values[:IDS_AT_MOST] for name, values in ids.items()}


def _user_id(place: Place) -> str:
    (found,) = place.rows("SELECT id::text FROM accounts_user WHERE username = %s", place.alice.name)[0]
    return str(found)


def _open_to_admin(place: Place) -> None:
    """Half an hour of another's memory; its pages then show that one."""
    place.admin.post(f"/policies/people/{_user_id(place)}/open", {"reason": "Looking whether it is gone"})


def _search(
    place: Place, each: Entered, readings: Readings, scanner: Scanner, entered: Sequence[Entered]
) -> None:
    found = place.alice.call("POST", "/memories/search", {"query": each.question, "limit": 100})
    readings.take("alice POST /api/v1/memories/search", [found.body], scanner, entered)


def _ask_the_model(place: Place, readings: Readings, scanner: Scanner, entered: Sequence[Entered]) -> None:
    """What a new conversation's prompts hold, and what the model's own tools find; its reply is one more place."""
    for each in entered:
        if each.question:
            before = place.model.asked
            note_turn(each, talk(place, place.alice, f"{Cue.LOOK_UP}{each.question}"))
            readings.take("prompts and tools", place.model.requests(since=before), scanner, entered)
