"""What a tool is told of its run, in tests that call one by itself."""

from datetime import datetime
from typing import Any
from uuid import UUID, uuid4

from memoryapp.llm.base import Cancellation
from memoryapp.tooling.base import ToolContext
from tests.turns import NOW


def tool_context(user_id: UUID | None = None, *, now: datetime = NOW, **given: Any) -> ToolContext:
    return ToolContext(
        **{
            "user_id": user_id or uuid4(),
            "conversation_id": uuid4(),
            "run_id": uuid4(),
            "tool_use_id": "toolu_1",
            "time_zone": "UTC",
            "now": now,
            "epoch_at_start": 0,
            "cancellation": Cancellation(),
            **given,
        }
    )
