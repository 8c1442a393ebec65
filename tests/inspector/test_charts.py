"""Small charts: shapes that fit the numbers, and the same numbers for those who do not see them."""

import re
from itertools import pairwise

import pytest
from django.template.loader import render_to_string

from memoryapp.inspector import charts
from memoryapp.inspector.charts import Point

WEEKS = [Point("2 Nov", 0), Point("9 Nov", 5), Point("16 Nov", 10)]


def drawn(name, chart):
    return render_to_string(f"_charts/{name}.html", {"chart": chart})


def test_the_longest_bar_goes_over_the_whole_width():
    chart = charts.bars("Facts", [Point("Events", 50), Point("Decisions", 25), Point("Orders", 0)])

    assert [shape.width for shape in chart.shapes] == ["100", "50", "0"]


def test_columns_stand_on_the_floor_side_by_side():
    chart = charts.columns("Recalls", WEEKS)

    assert [(shape.y, shape.height) for shape in chart.shapes] == [("32", "0"), ("16", "16"), ("0", "32")]
    edges = [(float(shape.x), float(shape.x) + float(shape.width)) for shape in chart.shapes]
    assert all(end <= begin for (_, end), (begin, _) in pairwise(edges))


def test_a_mark_stands_where_its_limit_is():
    chart = charts.columns("Ages", WEEKS, marks=[("Old limit", 1.5), ("New limit", 99)])

    assert [(mark.label, mark.x) for mark in chart.marks] == [("Old limit", "50"), ("New limit", "100")]


def test_a_sparkline_goes_from_the_first_to_the_last_value():
    chart = charts.line("Growth", WEEKS)

    assert chart.line == "0,32 50,17 100,2"
    assert chart.description == "From 0 (2 Nov) to 10 (16 Nov)."


def test_the_parts_of_a_whole_follow_each_other():
    chart = charts.stacked("Storage", [Point("A", 30), Point("B", 10)], whole=80)

    assert [(shape.x, shape.width) for shape in chart.shapes] == [("0", "37.5"), ("37.5", "12.5")]


def test_what_is_not_nothing_can_be_seen():
    chart = charts.columns("Recalls", [Point("a", 1), Point("b", 100_000)])

    assert float(chart.shapes[0].height) > 0.5


@pytest.mark.parametrize("name", ["columns", "line", "stacked"])
def test_a_drawing_has_a_title_and_a_description_and_its_numbers_in_words(name):
    make = getattr(charts, name)

    page = drawn(name, make("Recalls", WEEKS))

    label = re.search(r'role="img"\s+aria-labelledby="(\S+) (\S+)"', page)
    assert label
    assert f'<title id="{label[1]}">Recalls</title>' in page
    assert f'<desc id="{label[2]}">' in page
    assert all(point.label in page for point in WEEKS)


@pytest.mark.parametrize("name", ["bars", "columns", "line", "stacked"])
def test_a_chart_without_numbers_says_so(name):
    make = getattr(charts, name)

    for points in ([], [Point("2 Nov", 0)]):
        page = drawn(name, make("Recalls", points))
        assert "Nothing yet." in page
        assert "<svg" not in page


@pytest.mark.parametrize("name", ["bars", "columns", "line", "stacked"])
def test_a_chart_has_no_style_of_its_own_which_the_content_policy_refuses(name):
    page = drawn(name, getattr(charts, name)("Recalls", WEEKS))

    assert "style=" not in page


def test_numbers_of_shapes_do_not_follow_the_readers_language(settings):
    settings.LANGUAGE_CODE, settings.USE_THOUSAND_SEPARATOR = "de", True

    page = drawn("stacked", charts.stacked("Storage", [Point("A", 1), Point("B", 2)]))

    assert 'width="33.33"' in page


def test_labels_are_escaped():
    page = drawn("bars", charts.bars("Facts", [Point("<b>Events</b>", 1)]))

    assert "<b>" not in page
