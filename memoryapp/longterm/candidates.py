"""What asks to be remembered, and what is refused before anybody looks at what is known."""

import unicodedata
from dataclasses import dataclass, replace
from datetime import datetime
from uuid import UUID

from django.utils.formats import number_format
from django.utils.translation import gettext

from memoryapp.conf import get_conf
from memoryapp.errors import InvalidInputError
from memoryapp.longterm.models import Memory
from memoryapp.policies import dates, reconciliation
from memoryapp.policies.flags import storable
from memoryapp.policies.secrets import SecretRefusedError, find_secret
from memoryapp.policies.slots import slot_of
from memoryapp.policies.trust import Origin

MAX_KEY_CHARS = 100


class QuoteNotFoundError(InvalidInputError):
    """The quote is not a verbatim span of what the user said."""

    code = "quote_not_found"


@dataclass(frozen=True, slots=True)
class Source:
    """Where a statement was said. ``text`` is the whole message, in which the quote must stand."""

    message_id: UUID
    text: str


@dataclass(frozen=True, slots=True)
class Candidate:
    """A statement that asks to be remembered.

    ``origin`` comes from code, never from a model. ``epoch_at_start``: the user's memory epoch when the work began
    (None for a request made by a person now); work older than a forgetting may not write. ``key``: "" lets the words
    decide (``policies.slots``). ``happened_at``: when what it tells of happens. ``valid_from``, ``valid_to``: since and
    until when it holds, where it says so; what has ended is history, and takes no other statement's place.
    ``is_said_now``: its person is saying it by this very request; then its turn among other writers is when it is said.
    """

    kind: str
    statement: str
    origin: Origin
    channel: Memory.Channel
    said_at: datetime
    key: str = ""
    quote: str = ""
    source: Source | None = None
    run_id: UUID | None = None
    epoch_at_start: int | None = None
    happened_at: datetime | None = None
    valid_from: datetime | None = None
    valid_to: datetime | None = None
    is_said_now: bool = False

    @property
    def is_over(self) -> bool:
        return self.valid_to is not None and self.valid_to <= self.said_at


def checked(candidate: Candidate) -> Candidate:
    """The candidate as it may be kept. Raises InvalidInputError and its children."""
    statement = clean_statement(candidate.statement)
    refuse_secret(storable(candidate.quote))
    if candidate.source and (not candidate.quote.strip() or candidate.quote not in candidate.source.text):
        raise QuoteNotFoundError(gettext("The quote must be copied word for word from what the user said."))
    since = candidate.valid_from or candidate.said_at
    if candidate.valid_to and candidate.valid_to < since:
        raise InvalidInputError(gettext("What ends before it begins does not hold at any time."))
    key = "" if candidate.is_over else clean_key(candidate.key)
    return replace(candidate, statement=statement, quote=storable(candidate.quote), key=key)


def held_in(statement: str, *, said_at: datetime, time_zone: str) -> tuple[datetime, datetime] | None:
    """From when until when it held, where its words say so and that is over: "I worked at Acme from 2019 to 2020"."""
    span = dates.years_held(statement)
    if span is None or slot_of(statement):
        return None
    since, until = (dates.midnight(day, time_zone=time_zone) for day in span)
    return (since, until) if until <= said_at else None


def dated(candidate: Candidate, *, time_zone: str) -> Candidate:
    """With the time in which it held, unless whoever asks knows it; what is over has no key."""
    held = held_in(candidate.statement, said_at=candidate.said_at, time_zone=time_zone)
    if held is None or candidate.valid_from or candidate.valid_to:
        return candidate
    return replace(candidate, key="", valid_from=held[0], valid_to=held[1])


def clean_statement(text: str) -> str:
    text = unicodedata.normalize("NFC", " ".join(storable(text).split()))
    if not reconciliation.normalise(text):
        raise InvalidInputError(gettext("Write what should be remembered."))
    if any("\ud800" <= char <= "\udfff" for char in text):
        raise InvalidInputError(gettext("The statement holds characters that are not text."))
    refuse_secret(text)
    limit = get_conf().statement_max_chars
    if len(text) > limit:
        said = gettext("A memory holds at most {most} characters; this has {n}.")
        raise InvalidInputError(said.format(most=_number(limit), n=_number(len(text))))
    return text


def clean_key(key: str) -> str:
    key = key.strip().lower()
    if key and (len(key) > MAX_KEY_CHARS or not reconciliation.KEY.fullmatch(key)):
        raise InvalidInputError(
            gettext("A key is lower-case words joined by dots, such as 'pet.name'."), field="key"
        )
    return key


def refuse_secret(text: str) -> None:
    """Raises SecretRefusedError."""
    found = find_secret(text)
    if found:
        said = gettext("That looks like {secret}. Secrets are not kept in memory.")
        raise SecretRefusedError(said.format(secret=gettext(found)), found=found)


def _number(value: int) -> str:
    return number_format(value, force_grouping=True)
