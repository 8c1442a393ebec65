"""Why a reason was refused, in the language of the page."""

from django.utils.translation import gettext

from memoryapp.policies.reasons import ReasonMissingError


def reason_problem(error: ReasonMissingError) -> str:
    values = {
        name: gettext(value) if isinstance(value, str) else value for name, value in error.values.items()
    }
    return gettext(error.template).format(**values)
