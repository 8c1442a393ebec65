"""What another program of the same person does, through the API; it also writes faster than a person types."""

import json
import re
import urllib.request
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any
from urllib.parse import urljoin

from playwright.sync_api import BrowserContext

SECRET = re.compile(r'name="csrfmiddlewaretoken" value="(\w+)"')
ANSWERS_WITHIN_S = 20


@dataclass(frozen=True, slots=True)
class Program:
    url: str
    headers: Mapping[str, str]

    @classmethod
    def with_token(cls, url: str, token: str) -> "Program":
        return cls(url, {"Authorization": f"Bearer {token}"})

    @classmethod
    def in_session_of(cls, context: BrowserContext, url: str) -> "Program":
        found = SECRET.search(context.request.get(f"{url}/settings/").text())
        assert found
        cookies = "; ".join(f"{cookie['name']}={cookie['value']}" for cookie in context.cookies(url))
        return cls(url, {"Cookie": cookies, "X-CSRFToken": found[1], "Referer": url})

    def chat(self, title: str, *messages: str) -> str:
        """A conversation in which these were said and answered; its id."""
        id_: str = self.send("POST", "/conversations", {"title": title})["id"]
        for text in messages:
            self.say(id_, text)
        return id_

    def say(self, conversation_id: str, text: str) -> None:
        """Returns when the reply has ended."""
        accepted = self.send("POST", f"/conversations/{conversation_id}/turns", {"text": text})
        assert '"completed"' in self._answer("GET", urljoin(self.url, accepted["events_url"]))

    def delete_chat(self, id_: str) -> None:
        self.send("DELETE", f"/conversations/{id_}")

    def remember(self, statement: str, *, kind: str = "preference", key: str = "") -> str:
        """The id of the memory that holds it."""
        body = {"statement": statement, "kind": kind, "key": key}
        id_: str = self.send("POST", "/memories", body)["id"]
        return id_

    def add_kind(self, *, slug: str, label: str, **values: Any) -> None:
        body = {"slug": slug, "label": label, "rationale": "The tests say so.", **values}
        self.send("POST", "/kinds", body)

    def read(self, memory_id: str) -> dict[str, Any]:
        memory: dict[str, Any] = self.send("GET", f"/memories/{memory_id}")
        return memory

    def forget_all(self) -> None:
        while found := self.send("GET", "/memories?status=any&limit=1")["items"]:
            self.send("DELETE", f"/memories/{found[0]['id']}")  # what it replaced goes with it

    def statements(self) -> list[str]:
        """Of the newest memories in use."""
        return [item["statement"] for item in self.send("GET", "/memories?limit=100")["items"]]

    def send(self, method: str, path: str, body: Mapping[str, Any] | None = None) -> Any:
        """What is answered; None where that is nothing."""
        answer = self._answer(method, f"{self.url}/api/v1{path}", body)
        return json.loads(answer) if answer else None

    def _answer(self, method: str, url: str, body: Mapping[str, Any] | None = None) -> str:
        request = urllib.request.Request(
            url,
            method=method,
            data=json.dumps(body).encode() if body is not None else None,
            headers={**self.headers, "Content-Type": "application/json"},
        )
        with urllib.request.urlopen(request, timeout=ANSWERS_WITHIN_S) as response:
            return response.read().decode()
