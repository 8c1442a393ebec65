"""Running a tool within its time, in a way that a stop request reaches."""

import threading
from concurrent.futures import Future
from dataclasses import replace
from typing import Any

from django.db import connections

from memoryapp.errors import MemoryAppError
from memoryapp.llm.base import Cancellation
from memoryapp.llm.errors import Cancelled
from memoryapp.tooling.base import Tool, ToolContext, ToolOutput


class ToolTimedOutError(MemoryAppError):
    """``details``: ``timeout_s``."""

    code = "tool_timed_out"
    http_status = 504


def run_within_time(tool: Tool, arguments: Any, context: ToolContext) -> ToolOutput:
    """What the tool returns or raises; ``ToolTimedOutError`` after its time, ``Cancelled`` as soon as it is asked for.

    A tool that cannot be interrupted is left behind in a thread of its own: its ``cancellation`` is set, and what it
    returns later is dropped.
    """
    if tool.timeout_s is None:
        return tool.run(arguments, context)
    if context.cancellation.is_set:
        raise Cancelled("Stopped.")
    inner = Cancellation()
    is_settled = threading.Event()
    answer: Future[ToolOutput] = Future()
    answer.add_done_callback(lambda _: is_settled.set())
    context.cancellation.on_set(is_settled.set)
    work = (tool, arguments, replace(context, cancellation=inner), answer)
    threading.Thread(target=_work, args=work, name=f"tool-{tool.name}", daemon=True).start()
    is_settled.wait(tool.timeout_s)
    if answer.done() and not context.cancellation.is_set:
        return answer.result()
    inner.set()
    if context.cancellation.is_set:
        raise Cancelled("Stopped.")
    raise ToolTimedOutError(f"The tool did not answer within {tool.timeout_s:g} s.", timeout_s=tool.timeout_s)


def _work(tool: Tool, arguments: Any, context: ToolContext, answer: "Future[ToolOutput]") -> None:
    try:
        answer.set_result(tool.run(arguments, context))
    except BaseException as error:  # noqa: BLE001 - raised again, in the thread that waits
        answer.set_exception(error)
    finally:
        connections.close_all()
