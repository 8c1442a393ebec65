"""Small charts for pages: numbers in, shapes with their coordinates out; templates in ``_charts/`` draw them as SVG.

``bars`` (``_charts/bars.html``) compares things by name, ``columns`` (``_charts/columns.html``) is a histogram of bins
in order, ``line`` (``_charts/line.html``) a sparkline, ``stacked`` (``_charts/stacked.html``) the parts of a whole:
``{% include "_charts/columns.html" with chart=growth %}`` on a page that links ``css/charts.css``. The colour is the
``tone``'s: a tier's name, or ``PLAIN``. Coordinates are text, because a template would write a number as the
reader's language does; the shapes stretch to the room there is, the words stand outside of them.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from uuid import uuid4

from django.utils.translation import gettext

from memoryapp.inspector.amounts import count_text

WIDTH, HEIGHT = 100.0, 32.0
GAP = 0.25  # of a column's share of the width
SMALLEST = 0.8  # what is not nothing can be seen
PLAIN = "plain"


@dataclass(frozen=True, slots=True)
class Point:
    """One number of a chart. ``shown``: as it is written, with its unit; ``url``: what it counts, listed."""

    label: str
    value: float
    shown: str = ""
    url: str = ""
    tone: str = ""

    @property
    def text(self) -> str:
        return self.shown or count_text(self.value)


@dataclass(frozen=True, slots=True)
class Shape:
    """A rectangle, with what it stands for."""

    point: Point
    x: str
    y: str
    width: str
    height: str


@dataclass(frozen=True, slots=True)
class Mark:
    """A line across a histogram, such as a limit."""

    label: str
    x: str


@dataclass(frozen=True, slots=True)
class Chart:
    """``title`` says what is counted, ``description`` what it comes to; ``points`` is the table beside the drawing.

    ``column``: the head of the table's first column. ``line`` and ``area``: of a sparkline.
    """

    title: str
    description: str
    column: str
    tone: str
    points: Sequence[Point]
    shapes: Sequence[Shape] = ()
    marks: Sequence[Mark] = ()
    line: str = ""
    area: str = ""
    end_y: str = ""
    id: str = ""

    @property
    def is_empty(self) -> bool:
        return not any(point.value for point in self.points)

    @property
    def first(self) -> Point:
        return self.points[0]

    @property
    def last(self) -> Point:
        return self.points[-1]

    @property
    def highest(self) -> Point:
        return max(self.points, key=lambda point: point.value)


def bars(
    title: str, points: Iterable[Point], *, tone: str = PLAIN, column: str = "", about: str = ""
) -> Chart:
    """Horizontal bars, one for each point, the longest over the whole width."""
    points = list(points)
    top = _top(points)
    shapes = [
        Shape(point, "0", "0", _number(_length(point.value, top, WIDTH)), _number(HEIGHT)) for point in points
    ]
    return Chart(title, about or _compared(points), column, tone, points, shapes, id=_id())


def columns(
    title: str,
    points: Iterable[Point],
    *,
    tone: str = PLAIN,
    column: str = "",
    about: str = "",
    marks: Iterable[tuple[str, float]] = (),
) -> Chart:
    """Vertical bars from left to right in the order of ``points``.

    ``marks``: words, and where their line stands, in columns from the left: 2.5 is in the middle of the third.
    """
    points = list(points)
    top, share = _top(points), WIDTH / max(len(points), 1)
    shapes = []
    for at, point in enumerate(points):
        height = _length(point.value, top, HEIGHT)
        x, y = (at + GAP / 2) * share, HEIGHT - height
        shapes.append(Shape(point, _number(x), _number(y), _number(share * (1 - GAP)), _number(height)))
    lines = [Mark(label, _number(min(max(at * share, 0), WIDTH))) for label, at in marks]
    return Chart(title, about or _compared(points), column, tone, points, shapes, lines, id=_id())


def line(
    title: str, points: Iterable[Point], *, tone: str = PLAIN, column: str = "", about: str = ""
) -> Chart:
    """A sparkline with the area below it; it begins at nothing, not at the lowest value."""
    points = list(points)
    top, step = _top(points), WIDTH / max(len(points) - 1, 1)
    ends = [(at * step, HEIGHT - _length(point.value, top, HEIGHT - 2)) for at, point in enumerate(points)]
    drawn = " ".join(f"{_number(x)},{_number(y)}" for x, y in ends)
    return Chart(
        title,
        about or _from_to(points),
        column,
        tone,
        points,
        line=drawn,
        area=f"0,{_number(HEIGHT)} {drawn} {_number(WIDTH)},{_number(HEIGHT)}",
        end_y=_number(ends[-1][1]) if ends else "",
        id=_id(),
    )


def stacked(
    title: str, points: Iterable[Point], *, whole: float = 0, column: str = "", about: str = ""
) -> Chart:
    """The parts side by side, each in its own ``tone``; ``whole``: what they fill, when that is more than their sum."""
    points = list(points)
    top = max(whole, sum(point.value for point in points)) or 1
    shapes, x = [], 0.0
    for point in points:
        width = point.value / top * WIDTH
        shapes.append(Shape(point, _number(x), "0", _number(width), _number(HEIGHT)))
        x += width
    return Chart(title, about or _listed(points), column, PLAIN, points, shapes, id=_id())


def _top(points: Sequence[Point]) -> float:
    return max((point.value for point in points), default=0) or 1


def _length(value: float, top: float, room: float) -> float:
    return max(value / top * room, SMALLEST) if value else 0


def _number(value: float) -> str:
    return f"{value:.2f}".rstrip("0").rstrip(".")


def _id() -> str:
    """Title and description are found by it; two charts of a page never share one."""
    return f"chart-{uuid4().hex[:8]}"


def _listed(points: Sequence[Point]) -> str:
    return ", ".join(f"{point.label}: {point.text}" for point in points) + "." if points else ""


def _compared(points: Sequence[Point]) -> str:
    if not points:
        return ""
    most = max(points, key=lambda point: point.value)
    return gettext("The most: {label}, {number}.").format(label=most.label, number=most.text)


def _from_to(points: Sequence[Point]) -> str:
    if not points:
        return ""
    first, last = points[0], points[-1]
    return gettext("From {first} ({first_label}) to {last} ({last_label}).").format(
        first=first.text, first_label=first.label, last=last.text, last_label=last.label
    )
