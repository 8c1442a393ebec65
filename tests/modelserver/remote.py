"""The controls of a model server in another process."""

import json
import urllib.request
from typing import Any
from urllib.parse import quote

from tests.modelserver.server import Captured
from tests.modelserver.steps import Step


class RemoteModelServer:
    """What ``ModelServer`` offers, by address; ``urllib.error.URLError`` when nothing listens."""

    def __init__(self, url: str) -> None:
        self.url = url.rstrip("/")

    def script(self, *steps: Step) -> None:
        self._post("script", [step.as_json() for step in steps])

    @property
    def requests(self) -> list[Captured]:
        return [Captured(**captured) for captured in self._get("requests")]

    @property
    def calls(self) -> list[Captured]:
        return [captured for captured in self.requests if captured.path == "/v1/messages"]

    @property
    def open_streams(self) -> int:
        return int(self._get("state")["open_streams"])

    def use_persona(self, name: str) -> None:
        self._post(f"persona/{quote(name, safe='')}")

    def release(self, gate: str) -> None:
        self._post(f"release/{quote(gate, safe='')}")

    def wait_until_held(self, gate: str, timeout_s: float = 10.0) -> None:
        if not self._get(f"held/{quote(gate, safe='')}?timeout_s={timeout_s}")["held"]:
            raise TimeoutError(f"nothing waits at {gate}")

    def wait_until_streams(self, count: int, timeout_s: float = 10.0) -> None:
        if not self._get(f"streams/{count}?timeout_s={timeout_s}")["reached"]:
            raise TimeoutError(f"not {count} open streams but {self.open_streams}")

    def reset(self) -> None:
        self._post("reset")

    def _get(self, path: str) -> Any:
        with urllib.request.urlopen(f"{self.url}/control/{path}", timeout=60) as answer:
            return json.load(answer)

    def _post(self, path: str, value: Any = None) -> None:
        request = urllib.request.Request(
            f"{self.url}/control/{path}", data=json.dumps(value).encode(), method="POST"
        )
        with urllib.request.urlopen(request, timeout=60):
            pass
