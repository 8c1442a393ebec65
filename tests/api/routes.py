"""Every operation of the API, read from the API itself, so that a new route is tested without being named."""

from collections.abc import Iterator
from dataclasses import dataclass

from memoryapp.api import api

UNSAFE = {"POST", "PUT", "PATCH", "DELETE"}
# What each operation that reads a body accepts, by operation name. A new one must be added here.
BODIES: dict[str, object] = {
    "create_conversation": {},
    "change_conversation": {"title": "Taken over"},
    "post_turn": {"text": "Hello"},
    "create_memory": {"statement": "Drinks tea"},
    "change_memory": {"statement": "Taken over"},
    "search_memories": {"query": "marmalade"},
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


def routes() -> Iterator[Route]:
    schema = api.get_openapi_schema(path_prefix="")
    for path, operations in schema["paths"].items():
        for method, operation in operations.items():
            yield Route(method.upper(), path, operation["operationId"].rsplit("_api_", 1)[-1])


ROUTES = list(routes())
ROUTES_OF_ROWS = [route for route in ROUTES if "{" in route.path]
UNSAFE_ROUTES = [route for route in ROUTES if route.method in UNSAFE]
