"""WCAG 2.2 AA, computed from the tokens, in both themes."""

import re

import pytest

from tests.ui.sources import stylesheets

TEXT = 4.5
CONTROL_EDGE = 3.0

SURFACES = ("page", "surface", "sunken", "hover")
TIERS = ("scratchpad", "transcript", "longterm")
CODE = ("comment", "keyword", "string", "number", "name", "wrong")

PAIRS = [
    *((ink, surface, TEXT) for ink in ("ink", "ink-soft", "accent", "danger") for surface in SURFACES),
    *(("line-strong", surface, CONTROL_EDGE) for surface in ("page", "surface", "sunken")),
    *((tier, f"{tier}-wash", TEXT) for tier in TIERS),
    *((tier, surface, TEXT) for tier in TIERS for surface in ("page", "surface")),
    *((ink, f"{tier}-wash", TEXT) for ink in ("ink", "ink-soft", "accent") for tier in TIERS),
    *((ink, "accent-wash", TEXT) for ink in ("ink", "accent")),
    *((ink, "danger-wash", TEXT) for ink in ("ink", "danger")),
    *(("on-accent", fill, TEXT) for fill in ("accent-fill", "accent-fill-hover")),
    *(("on-danger", fill, TEXT) for fill in ("danger-fill", "danger-fill-hover")),
    *((f"code-{kind}", "sunken", TEXT) for kind in CODE),
]


def _tokens(theme):
    found = {}
    for name in ("tokens.css", "code.css"):
        for token, light, dark in re.findall(
            r"--([a-z-]+): light-dark\((#[0-9a-f]{6}), (#[0-9a-f]{6})\)", stylesheets()[name]
        ):
            found[token] = light if theme == "light" else dark
    return found


def _luminance(colour):
    channels = [int(colour[i : i + 2], 16) / 255 for i in (1, 3, 5)]
    red, green, blue = (c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4 for c in channels)
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue


def _contrast(one, other):
    darker, lighter = sorted((_luminance(one), _luminance(other)))
    return (lighter + 0.05) / (darker + 0.05)


@pytest.mark.parametrize("theme", ["light", "dark"])
@pytest.mark.parametrize(("front", "back", "least"), PAIRS)
def test_colours_can_be_told_apart(theme, front, back, least):
    tokens = _tokens(theme)

    assert _contrast(tokens[front], tokens[back]) >= least
