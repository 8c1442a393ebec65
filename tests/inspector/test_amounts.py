"""Numbers, money and times of work, in the language of the page."""

import pytest
from django.utils import translation

from memoryapp.inspector.amounts import cost_text, count_text, duration_text, money_text


@pytest.mark.parametrize(
    ("language", "texts"),
    [
        ("en", ["1,234,567", "$1,234.50", "$0.0001", "14.8 s"]),
        ("de", ["1.234.567", "$1.234,50", "$0,0001", "14,8 s"]),
    ],
)
def test_numbers_are_written_as_the_reader_does(language, texts):
    with translation.override(language):
        found = [
            count_text(1_234_567),
            money_text(1_234.5),
            money_text(0.0001, decimals=4),
            duration_text(14.84),
        ]

    assert found == texts


@pytest.mark.parametrize(
    ("seconds", "text"),
    [(0.23, "230 ms"), (3, "3.0 s"), (59.96, "1 min 0 s"), (125, "2 min 5 s"), (12_000, "3 h 20 min")],
)
def test_a_time_of_work_has_the_units_that_matter(seconds, text):
    assert duration_text(seconds) == text


def test_a_cost_is_money_only_where_prices_are_configured(configure):
    unpriced = cost_text("some-model", input_tokens=1_000, output_tokens=100)
    configure(
        STRATA_MODEL_SETTINGS='{"some-model": {"usd_per_million_input": 1, "usd_per_million_output": 5}}'
    )

    assert unpriced == "—"
    assert cost_text("some-model", input_tokens=10_000, output_tokens=1_000) == "$0.0150"
    assert cost_text("some-model", input_tokens=10, output_tokens=1) == "less than $0.0001"
    assert cost_text("other", input_tokens=10_000, output_tokens=1_000) == "—"
