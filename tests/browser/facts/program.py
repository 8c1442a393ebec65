"""What another program of the same person does, through the API."""

import json
import urllib.request
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True, slots=True)
class Program:
    url: str
    token: str

    def remember(self, statement: str, *, kind: str = "preference", key: str = "") -> str:
        """The id of the memory that holds it."""
        body = {"statement": statement, "kind": kind, "key": key}
        return self.send("POST", "/memories", body)["id"]

    def add_kind(self, *, slug: str, label: str, **values: Any) -> None:
        self.send(
            "POST", "/kinds", {"slug": slug, "label": label, "rationale": "The tests say so.", **values}
        )

    def read(self, memory_id: str) -> dict[str, Any]:
        return self.send("GET", f"/memories/{memory_id}")

    def statements(self) -> list[str]:
        """Of the newest memories in use."""
        return [item["statement"] for item in self.send("GET", "/memories?limit=100")["items"]]

    def send(self, method: str, path: str, body: Mapping[str, Any] | None = None) -> Any:
        request = urllib.request.Request(
            f"{self.url}/api/v1{path}",
            method=method,
            data=json.dumps(body).encode() if body is not None else None,
            headers={"Authorization": f"Bearer {self.token}", "Content-Type": "application/json"},
        )
        with urllib.request.urlopen(request, timeout=20) as response:
            return json.load(response)
