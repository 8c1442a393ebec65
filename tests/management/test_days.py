"""A number of days that would take away what was made just now is refused."""

from argparse import ArgumentTypeError

import pytest

from memoryapp.management.installation import days


@pytest.mark.parametrize("text", ["0", "-5", "99999999999", "1.5", "", "ten"])
def test_what_is_no_number_of_days_is_refused(text):
    with pytest.raises(ArgumentTypeError, match="whole number of days"):
        days(text)


@pytest.mark.parametrize("text", ["1", "30", "3650"])
def test_a_number_of_days_is_one(text):
    assert days(text) == int(text)
