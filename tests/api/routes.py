"""Every operation of the API, read from the API itself, so that a new route is tested without being named."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from memoryapp.api import api

UNSAFE = {"POST", "PUT", "PATCH", "DELETE"}
# What each operation that reads a body accepts, by operation name. A new one must be added here.
BODIES: dict[str, object] = {
    "edit_scratchpad": {"op": "add_todo", "text": "Ask"},
    "create_conversation": {},
    "change_conversation": {"title": "Taken over"},
    "post_turn": {"text": "Hello"},
    "decide_approval": {"approve": True},
    "edit_turn": {"text": "Taken over"},
    "restore_turns": {"deletion_id": "00000000-0000-7000-8000-000000000000"},
    "change_message": {"text": "Taken over"},
    "add_pin": {"turn_id": "00000000-0000-7000-8000-000000000000", "text": "marmalade"},
    "summarise": {},
    "switch_server": {"is_on": True},
    "add_server": {"slug": "tests", "name": "Tests", "url": "http://127.0.0.1:1/mcp"},
    "change_server": {"name": "Taken over"},
    "edit_summary": {"text": "Taken over"},
    "create_memory": {"statement": "Drinks tea"},
    "change_memory": {"statement": "Taken over"},
    "give_feedback": {"helped": True},
    "judge_memory": {"verdict": "not_relevant"},
    "withdraw_memory": {"source_message_id": "00000000-0000-7000-8000-000000000000"},
    "add_kind": {"slug": "pet", "label": "Pets", "rationale": "They are family."},
    "change_kind": {"label": "Taken over"},
    "preview_kind": {"ttl_days": 30},
    "search_memories": {"query": "marmalade"},
    "preview_forgetting": {"scope": "memory", "id": "00000000-0000-7000-8000-000000000000"},
    "forget": {"scope": "memory", "id": "00000000-0000-7000-8000-000000000000", "confirm": True},
}


@dataclass(frozen=True, slots=True)
class Route:
    method: str
    path: str  # with "{conversation_id}", "{turn_id}" or "{memory_id}" where an id belongs
    name: str

    def __str__(self) -> str:
        return f"{self.method} {self.path}"

    @property
    def body(self) -> object:
        return BODIES.get(self.name)

    def body_for(self, ids: Mapping[str, object]) -> object:
        """The same with these ids in the fields that have their names."""
        if not isinstance(self.body, dict):
            return self.body
        return {name: str(ids[name]) if name in ids else value for name, value in self.body.items()}


def routes() -> Iterator[Route]:
    schema = api.get_openapi_schema(path_prefix="")
    for path, operations in schema["paths"].items():
        for method, operation in operations.items():
            yield Route(method.upper(), path, operation["operationId"].rsplit("_api_", 1)[-1])


ROUTES = list(routes())
# What belongs to nobody is staff's to look after, and has its own tests.
NOBODYS = ("/mcp/", "/kinds/")
ROUTES_OF_ROWS = [route for route in ROUTES if "{" in route.path and not route.path.startswith(NOBODYS)]
UNSAFE_ROUTES = [route for route in ROUTES if route.method in UNSAFE]
