"""``index.html``: the archive for people. One file without scripts, written a record at a time."""

from collections.abc import Iterator, Mapping
from datetime import datetime
from typing import Any, Final
from uuid import UUID
from zoneinfo import ZoneInfo

from django.template.loader import render_to_string
from django.utils import formats
from django.utils.translation import gettext

from memoryapp.accounts.queries import get_person
from memoryapp.longterm import queries as longterm
from memoryapp.portability.records import Record, Records

PAGE: Final = "portability/index.html"
MOMENTS: Final = ("created_at", "said_at", "recorded_at", "expires_at", "affirmed_at", "finished_at")


def parts(user_id: UUID, records: Records) -> Iterator[str]:
    """In the reader's language, with times in their zone."""
    person = get_person(user_id)
    kinds = {kind.slug: gettext(kind.label) for kind in longterm.kinds()}

    def part(name: str, **context: object) -> str:
        return render_to_string(f"{PAGE}#{name}", {"person": person, **context})

    zone = ZoneInfo(person.time_zone)
    yield part("beginning", counts=records.counts)
    for memory in records.memories():
        yield part("fact", fact=_in_zone(memory, zone), kind=kinds.get(memory["kind"], memory["kind"]))
    yield part("lessons")
    for experience in records.experiences():
        yield part("lesson", lesson=_in_zone(experience, zone))
    yield part("conversations")
    for conversation in records.conversations():
        yield part("conversation", conversation=_in_zone(conversation.head, zone))
        for turn in conversation.turns:
            yield part("turn", turn=_in_zone(turn, zone))
        yield part("conversation_end", summaries=conversation.summaries, lines=conversation.pinned_lines)
    yield part("ending")


def _in_zone(record: Mapping[str, Any], zone: ZoneInfo) -> Record:
    """Moments as a person reads them."""
    shown = {name: _shown(record[name], zone) for name in MOMENTS if record.get(name)}
    nested = {
        name: [_in_zone(one, zone) for one in record[name]]
        for name in ("messages", "versions", "sources")
        if name in record
    }
    return {**record, **shown, **nested}


def _shown(moment: str, zone: ZoneInfo) -> str:
    at = datetime.fromisoformat(moment).astimezone(zone)
    return formats.date_format(at, "DATETIME_FORMAT")
