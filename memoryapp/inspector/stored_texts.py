"""Texts that workers stored, in English, as pages show them in the reader's language.

What was stored says the most, numbers and names included, so readers of English get it as it is. For the others there
is a sentence for each code, and a translation of each sentence that never varies.
"""

from django.utils.translation import get_language, gettext, gettext_lazy, gettext_noop

from memoryapp.transcript.models import Turn

# What a call touches ends with it when text that its person did not write is in the prompt.
LED_BY_STRANGERS = gettext_noop("The assistant has read text in this chat that you did not write.")
STUCK = gettext_noop("Its last steps failed in the same way, or told nothing new.")
# Why a turn has no whole reply, by the code of its error.
FAILURES = {
    "daily_budget_spent": gettext_lazy("Today’s budget is spent. There is a new one at midnight."),
    "internal_error": gettext_lazy("Something went wrong on our side. It has been logged."),
    "message_too_long": gettext_lazy(
        "This message does not fit the model's window beside what must stay. Send it in parts."
    ),
    "model_authentication": gettext_lazy(
        "The provider did not accept the key, or the key may not use this model."
    ),
    "model_context_too_long": gettext_lazy("The prompt is too long for the model."),
    "model_empty_reply": gettext_lazy("The model sent an empty reply. Try again."),
    "model_not_found": gettext_lazy("The provider does not know this model."),
    "model_overloaded": gettext_lazy("The model is overloaded."),
    "model_provider_failed": gettext_lazy("The provider of the model failed."),
    "model_rate_limited": gettext_lazy("The model's rate limit is reached."),
    "model_request_rejected": gettext_lazy("The provider did not accept the request."),
    "model_spend_limit": gettext_lazy("The provider's spending limit is reached."),
    "model_stream_broken": gettext_lazy("The model's reply ended too early."),
    "model_timed_out": gettext_lazy("The model did not answer in time."),
    "model_unreachable": gettext_lazy("The model cannot be reached."),
    "reply_not_stored": gettext_lazy("The reply could not be stored. Try again."),
    "run_limit_reached": gettext_lazy("This took as much as one message may."),
    "run_overtaken": gettext_lazy("Something that it had read was forgotten meanwhile, so it was stopped."),
    "run_stuck": gettext_lazy("It got nowhere, and nobody said to go on, so it was stopped."),
    "worker_lost": gettext_lazy("The server that was writing it stopped."),
}


def failure_text(turn: Turn) -> str:
    """Why a turn has no whole reply; "" when nobody said."""
    known = FAILURES.get(turn.error_code)
    return turn.error_message if known is None or _is_english() else str(known)


def wait_text(turn: Turn) -> str:
    """Why a turn waits."""
    if turn.wait_reason == Turn.WaitReason.STUCK and not _is_english():
        return gettext(STUCK)
    return _translated(turn.wait_message)


def touches_text(stored: str) -> str:
    """What a call touches: the tool's own words stay as they are."""
    own = stored.removesuffix(LED_BY_STRANGERS)
    return stored if own == stored else own + gettext(LED_BY_STRANGERS)


def activity_text(said: str) -> str:
    """What a live turn does."""
    return _translated(said)


def _translated(stored: str) -> str:
    return gettext(stored) if stored else ""  # of an empty text gettext answers with its catalogue's head


def _is_english() -> bool:
    return (get_language() or "en").startswith("en")
