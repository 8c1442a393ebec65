"""What each format has to say about itself."""

from abc import ABC, abstractmethod
from collections.abc import Iterator
from typing import ClassVar

from memoryapp.portability.importers.items import Format, Item, Reason
from memoryapp.portability.importers.ledger import Ledger


class Reader(ABC):
    """Turns the entries of one export into items; one instance reads one upload, entry after entry."""

    format: ClassVar[Format]
    # Keys whose values nobody reads: they are passed over without being built. Most of a real export is such.
    unread: ClassVar[frozenset[str]] = frozenset()

    def __init__(self, ledger: Ledger) -> None:
        self.ledger = ledger

    @staticmethod
    def is_document(name: str) -> bool:  # noqa: ARG004  # for those that override it
        """Whether the product puts conversations or memories under this name, in its own archives."""
        return True

    @staticmethod
    @abstractmethod
    def recognises(entry: object) -> bool:
        """Whether an entry has the shape of this format and of no other."""

    @abstractmethod
    def items(self, entry: object) -> Iterator[Item]:
        """Of any JSON value whatever; what has not the shape is counted."""

    def remaining(self) -> Iterator[Item]:
        """What is known at the end only."""
        return iter(())

    def corrupted(self) -> Iterator[Item]:
        self.ledger.leave_out(Reason.CORRUPTED)
        return iter(())
