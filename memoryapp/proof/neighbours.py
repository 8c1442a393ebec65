"""What nobody forgot: another person's very same words, and the same person's next fact."""

from dataclasses import dataclass

from memoryapp.proof.doors import talk
from memoryapp.proof.installing import Place
from memoryapp.proof.people import Person


@dataclass(frozen=True, slots=True)
class _Kept:
    """A memory or a conversation, as its person reads it."""

    person: Person
    path: str
    word: str

    @property
    def is_there(self) -> bool:
        answer = self.person.read(f"/api/v1{self.path}")
        return answer.status == 200 and self.word.encode() in answer.body


@dataclass(frozen=True, slots=True)
class Neighbours:
    """``twin``: Alice's fact that Bob has, too, word for word."""

    kept: tuple[_Kept, ...]
    twin_id: str
    twin_word: str

    @property
    def lost(self) -> int:
        return sum(not each.is_there for each in self.kept)

    def forget_twin(self, place: Place) -> None:
        body = {"scope": "memory_and_source", "id": self.twin_id, "confirm": True}
        place.alice.call("POST", "/forget", body)

    def twin_leaks(self, place: Place) -> int:
        """How often Alice still finds what Bob alone may."""
        found = place.alice.call(
            "POST", "/memories/search", {"query": "Which ferry do I take?", "limit": 100}
        )
        listed = place.alice.call("GET", "/memories?limit=200")
        return sum(self.twin_word.encode() in answer.body for answer in (found, listed))


def move_in(place: Place) -> Neighbours:
    """Tell both of them what must stay, and Alice once more what Bob was told."""
    shared, next_fact = place.canaries.kept("shared").word, place.canaries.kept("next fact").word
    statement = f"Takes the ferry {shared} to work"
    alices, bobs = (_remember(person, statement) for person in (place.alice, place.bob))
    next_id = _remember(place.alice, f"Takes the tram {next_fact} home")
    talks = [
        (place.bob, shared, talk(place, place.bob, f"My ferry is called {shared}.")),
        (place.alice, next_fact, talk(place, place.alice, f"My tram is called {next_fact}.")),
    ]
    kept = [
        _Kept(place.bob, f"/memories/{bobs}", shared),
        _Kept(place.alice, f"/memories/{next_id}", next_fact),
    ]
    kept += [_Kept(person, f"/turns/{turn['id']}", word) for person, word, turn in talks]
    return Neighbours(tuple(kept), alices, shared)


def _remember(person: Person, statement: str) -> str:
    made = person.call("POST", "/memories", {"statement": statement, "kind": "preference"}).json
    return str(made["id"])
