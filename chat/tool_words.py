"""How a page names the tools that come with Strata, and what came of their calls."""

from django.utils.translation import pgettext_lazy

from memoryapp.scratchpad.models import Step

# Of tools from elsewhere the name is the server's own.
NAMES = {
    "calculate": pgettext_lazy("tool", "calculate"),
    "current_time": pgettext_lazy("tool", "current_time"),
    "fetch_page": pgettext_lazy("tool", "fetch_page"),
    "get_fact": pgettext_lazy("tool", "get_fact"),
    "list_facts": pgettext_lazy("tool", "list_facts"),
    "read_result": pgettext_lazy("tool", "read_result"),
    "recall": pgettext_lazy("tool", "recall"),
    "remember": pgettext_lazy("tool", "remember"),
    "search_conversations": pgettext_lazy("tool", "search_conversations"),
    "update_plan": pgettext_lazy("tool", "update_plan"),
}
UNKNOWN = pgettext_lazy("tool call", "not known")
# Of a finished call; one that went well says nothing.
ENDED = {
    Step.Status.OK: "",
    Step.Status.RUNNING: pgettext_lazy("tool call", "cut off"),
    Step.Status.ERROR: pgettext_lazy("tool call", "failed"),
    Step.Status.REFUSED: pgettext_lazy("tool call", "not run"),
    Step.Status.REPEATED: pgettext_lazy("tool call", "not run again"),
}
# Of a call in a live turn, by the status in its event.
LIVE = {
    "waiting": pgettext_lazy("tool call", "waiting"),
    "running": pgettext_lazy("tool call", "running"),
    "done": pgettext_lazy("tool call", "done"),
    "failed": pgettext_lazy("tool call", "failed"),
    "refused": pgettext_lazy("tool call", "not run"),
}


def tool_name(name: str) -> str:
    return str(NAMES.get(name, name))


def ended_word(status: str) -> str:
    return str(ENDED[Step.Status(status)])


def live_word(status: str) -> str:
    return str(LIVE.get(status, status))
