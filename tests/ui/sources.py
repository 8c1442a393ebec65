"""The templates and static files as text, for tests that hold all of them to a rule."""

import re
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent.parent
TEMPLATES = ROOT / "templates"
STATIC = ROOT / "static"

_COMMENT = re.compile(r"{#.*?#}|<!--.*?-->", re.DOTALL)


def templates() -> dict[str, str]:
    """Every template by the name that loads it, without its comments."""
    return {
        path.relative_to(TEMPLATES).as_posix(): _COMMENT.sub("", path.read_text())
        for path in sorted(TEMPLATES.rglob("*.html"))
    }


def stylesheets() -> dict[str, str]:
    return {path.name: path.read_text() for path in sorted((STATIC / "css").glob("*.css"))}


def modules() -> dict[str, str]:
    return {path.name: path.read_text() for path in sorted((STATIC / "js").glob("*.js"))}
