"""What one reading of a file remembers: the clock, the limits, and what it left out."""

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import datetime

from memoryapp.portability.importers import moments
from memoryapp.portability.importers.items import Attachment, Reason, Skipped
from memoryapp.portability.importers.limits import Limits
from memoryapp.portability.importers.values import text


@dataclass(slots=True)
class Ledger:
    now: datetime
    limits: Limits
    left_out: Counter[Reason] = field(default_factory=Counter)

    def leave_out(self, reason: Reason, count: int = 1) -> None:
        self.left_out[reason] += count

    def skipped(self) -> Iterator[Skipped]:
        """One for each reason that there was."""
        return (Skipped(reason, self.left_out[reason]) for reason in Reason if self.left_out[reason])

    def moment(self, value: object) -> datetime | None:
        """In UTC; None where there is none, and where it is doubtful, which is counted."""
        found = moments.parse(value, now=self.now)
        if found is None and value not in (None, "", 0):
            self.leave_out(Reason.DOUBTFUL_DATE)
        return found

    def shortened(self, whole: str) -> str:
        if len(whole) <= self.limits.text_chars:
            return whole
        self.leave_out(Reason.SHORTENED)
        return whole[: self.limits.text_chars]

    def title(self, value: object) -> str:
        """In one line."""
        # Cut first: splitting into words is the costly part.
        words = text(value)[: 10 * self.limits.title_chars].split()
        return " ".join(words)[: self.limits.title_chars]

    def attachment(self, name: object, content: object = "") -> Attachment | None:
        named = self.title(name)
        kept = self.shortened(text(content).strip())
        return Attachment(named, kept) if named or kept else None
