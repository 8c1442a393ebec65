"""mem0: what ``get_all`` answers, a list of memories alone or under ``results``."""

from collections.abc import Iterator
from typing import Any, Final

from memoryapp.portability.importers import moments
from memoryapp.portability.importers.items import Fact, Format, Item, Reason
from memoryapp.portability.importers.ledger import Ledger
from memoryapp.portability.importers.reader import Reader
from memoryapp.portability.importers.statements import statements
from memoryapp.portability.importers.values import first_text, mapping, sequence, text

SOURCE: Final = "import:mem0"
# Its platform's own categories, as far as one of our kinds means the same.
_KINDS: Final = {"personal_details": "identity", "user_preferences": "preference"}


class Mem0Reader(Reader):
    """One person's memories: a file made for an agent may hold several people's, and the first is taken."""

    format = Format.MEM0
    unread = frozenset({"embedding", "vector"})

    def __init__(self, ledger: Ledger) -> None:
        super().__init__(ledger)
        self._person = ""

    @staticmethod
    def recognises(entry: object) -> bool:
        found = mapping(entry)
        return isinstance(found.get("memory"), str) and not found.keys().isdisjoint(
            {"id", "user_id", "agent_id", "run_id", "hash", "created_at"}
        )

    def items(self, entry: object) -> Iterator[Item]:
        found = mapping(entry)
        if not isinstance(found.get("memory"), str):
            return self.corrupted()
        return self._facts(found)

    def _facts(self, found: dict[str, Any]) -> Iterator[Item]:
        person = first_text(found, "user_id")
        self._person = self._person or person
        if person and person != self._person:
            self.ledger.leave_out(Reason.OTHER_PERSON)
            return
        expires_at = moments.parse_end(found.get("expiration_date"))
        if expires_at and expires_at <= self.ledger.now:
            self.ledger.leave_out(Reason.EXPIRED)
            return
        told = list(statements(found["memory"], most_chars=self.ledger.limits.fact_chars))
        if not told:
            self.ledger.leave_out(Reason.EMPTY)
        for position, statement in enumerate(told):
            yield Fact(
                statement,
                SOURCE,
                said_at=self.ledger.moment(found.get("created_at")),
                expires_at=expires_at,
                kind_hint=_kind(found),
                # One memory that is several statements: the first has its id, so that all are found and none twice.
                external_id=first_text(found, "id") if position == 0 else "",
            )


def _kind(found: dict[str, Any]) -> str:
    categories = [*sequence(found.get("categories")), mapping(found.get("metadata")).get("category")]
    return next((_KINDS[name] for name in map(text, categories) if name in _KINDS), "")
