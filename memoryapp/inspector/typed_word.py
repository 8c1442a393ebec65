"""What is done to many rows at once: after a typed word only, and to just those that the page showed."""

import hashlib
from collections.abc import Iterable, Sequence
from typing import Final
from uuid import UUID

from django.http import QueryDict
from django.utils.translation import gettext

TYPED_ABOVE: Final = 20  # more are done only after a word was typed
AT_MOST: Final = 10_000  # in one go


def mark(ids: Iterable[UUID]) -> str:
    """Of a set of rows, in any order: a word that is typed for these counts for no others."""
    return hashlib.sha256(b"".join(sorted(row_id.bytes for row_id in ids))).hexdigest()


def is_typed(values: QueryDict, ids: Sequence[UUID], *, word: str) -> bool:
    """Whether the word was typed, and for just these."""
    typed = values.get("typed", "").strip().casefold()
    return typed == word.casefold() and values.get("shown") == mark(ids)


def problem(values: QueryDict, ids: Sequence[UUID], *, word: str) -> str:
    """Why the form was not enough; empty for one that asked for no word yet."""
    if "typed" not in values:
        return ""
    if values.get("shown") != mark(ids):
        return gettext("The list changed meanwhile. This is what it holds now, the newest first.")
    return gettext("Type the word “{word}” to go on.").format(word=word)
