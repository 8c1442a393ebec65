"""Numbers, money and times of work, as the pages write them in the language of their person."""

from django.utils.formats import number_format
from django.utils.translation import gettext

from memoryapp.conf import get_conf


def count_text(count: float) -> str:
    """ "1,200"."""
    return number_format(round(count), force_grouping=True)


def money_text(usd: float, *, decimals: int = 2) -> str:
    """ "$1,200.50"."""
    return f"${number_format(round(usd, decimals), decimals, force_grouping=True)}"


def cost_text(model: str, *, input_tokens: int, output_tokens: int) -> str:
    """ "$0.0123", or "—" while nobody has configured the prices of ``model``."""
    usd = get_conf().for_model(model).usd(input_tokens=input_tokens, output_tokens=output_tokens)
    if usd is None:
        return "—"
    if 0 < usd < 0.0001:
        return gettext("less than {cost}").format(cost=money_text(0.0001, decimals=4))
    return money_text(usd, decimals=4 if usd < 1 else 2)


def duration_text(seconds: float) -> str:
    """ "230 ms", "14.8 s", "2 min 5 s", "3 h 20 min"."""
    if seconds < 1:
        return f"{seconds * 1000:.0f} ms"
    if round(seconds, 1) < 60:
        return f"{number_format(round(seconds, 1), 1)} s"
    minutes, rest = divmod(round(seconds), 60)
    if minutes < 60:
        return f"{minutes} min {rest} s"
    return f"{minutes // 60} h {minutes % 60} min"
