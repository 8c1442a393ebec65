"""The texts of the pages, and their translations in ``memoryapp/locale``: ``make messages``.

Reads the sources as Django's ``makemessages`` does, without needing the GNU gettext programs; what a test finds
missing and what the command adds are therefore the same.
"""

import io
import sys
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path

from babel.messages.catalog import Catalog, Message
from babel.messages.extract import extract
from babel.messages.mofile import write_mo
from babel.messages.pofile import read_po, write_po
from django.utils.translation.template import templatize

PROJECT = Path(__file__).resolve().parent.parent
LOCALES = PROJECT / "memoryapp" / "locale"
CODE = ("memoryapp", "chat")
TEMPLATES = "templates"

ONE, COUNTED = None, (1, 2)
IN_CONTEXT, COUNTED_IN_CONTEXT = ((1, "c"), 2), ((1, "c"), 2, 3)
KEYWORDS = {
    "_": ONE,
    "gettext": ONE,
    "gettext_lazy": ONE,
    "gettext_noop": ONE,
    "ngettext": COUNTED,
    "ngettext_lazy": COUNTED,
    "pgettext": IN_CONTEXT,
    "pgettext_lazy": IN_CONTEXT,
    "npgettext": COUNTED_IN_CONTEXT,
    "npgettext_lazy": COUNTED_IN_CONTEXT,
}
# The day of a file's making would change with every run and say nothing.
UNDATED = datetime(2026, 1, 1, tzinfo=UTC)


def locales() -> list[str]:
    return sorted(path.parent.parent.name for path in LOCALES.glob("*/LC_MESSAGES/django.po"))


def po_file(locale: str) -> Path:
    return LOCALES / locale / "LC_MESSAGES" / "django.po"


def mo_file(locale: str) -> Path:
    return po_file(locale).with_suffix(".mo")


def in_source() -> Catalog:
    """Every text that the code and the templates mark, with the files that hold it."""
    found = Catalog(charset="utf-8")
    for path, source in _sources():
        name = str(path.relative_to(PROJECT))
        try:
            for _line, text, comments, context in extract(
                "python", io.BytesIO(source.encode()), keywords=KEYWORDS
            ):
                # Of two places that differ in their plural alone, the one that has it decides.
                found.add(text, None, [(name, None)], auto_comments=comments, context=context)
        except (SyntaxError, ValueError) as error:
            raise ValueError(f"{name}: {error}") from error
    return found


def translated(locale: str) -> Catalog:
    with po_file(locale).open("rb") as file:
        return read_po(file, locale=locale)


def compiled(catalogue: Catalog) -> bytes:
    file = io.BytesIO()
    write_mo(file, catalogue)
    return file.getvalue()


def texts(catalogue: Catalog) -> set[tuple[str | None, str | tuple[str, ...]]]:
    """(context, text or its forms) of every message but the header."""
    return {(message.context, _forms(message)) for message in catalogue if message.id}


def update(locale: str) -> int:
    """Write the catalogue of ``locale`` anew, keeping what is translated. Returns how many texts wait for a word."""
    path = po_file(locale)
    if path.exists():
        catalogue = translated(locale)
    else:
        path.parent.mkdir(parents=True, exist_ok=True)
        catalogue = Catalog(locale=locale, charset="utf-8")
    catalogue.project, catalogue.version = "Strata", "1"
    # A guess from a similar text would be shown to people as if somebody had written it.
    catalogue.update(in_source(), no_fuzzy_matching=True, update_creation_date=False)
    catalogue.obsolete.clear()
    catalogue.creation_date = catalogue.revision_date = UNDATED
    catalogue.header_comment, catalogue.fuzzy = "", False
    catalogue.last_translator = catalogue.language_team = "Strata"
    with path.open("wb") as file:
        write_po(file, catalogue, width=110, sort_output=True)
    mo_file(locale).write_bytes(compiled(translated(locale)))
    return sum(1 for message in catalogue if message.id and not is_complete(message))


def is_complete(message: Message) -> bool:
    strings = message.string if isinstance(message.string, (tuple, list)) else (message.string,)
    return all(strings) and not message.fuzzy


def _forms(message: Message) -> str | tuple[str, ...]:
    return tuple(message.id) if isinstance(message.id, (tuple, list)) else message.id


def _sources() -> Iterator[tuple[Path, str]]:
    for room in CODE:
        for path in sorted((PROJECT / room).rglob("*.py")):
            yield path, path.read_text()
    for path in sorted((PROJECT / TEMPLATES).rglob("*.html")):
        marked = templatize(path.read_text(), origin=str(path))
        # What is left of the page between the texts has indentation that no Python would have.
        yield path, "\n".join(line.strip() for line in marked.splitlines())


def main() -> None:
    for locale in locales():
        missing = update(locale)
        sys.stdout.write(f"{locale}: {f'{missing} to translate' if missing else 'complete'}\n")


if __name__ == "__main__":
    main()
