"""People and programs as an installation meets them: pages in a session, and the REST API with a token."""

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from http.client import HTTPConnection
from http.cookies import SimpleCookie
from typing import Any, Final, Self
from urllib.parse import urlencode
from uuid import uuid4

from memoryapp.bench.installation import BenchFailedError

_HOST: Final = "127.0.0.1"
_TIMEOUT_S: Final = 60.0
_CSRF_COOKIE: Final = "strata_csrf"
_TOKEN: Final = re.compile(r"strata_[\w-]{20,}")
_PASSWORD: Final = "a harbour full of boats"  # noqa: S105 - of an installation that nobody else reaches


@dataclass(frozen=True, slots=True)
class Answer:
    status: int
    body: bytes
    location: str = ""

    @property
    def json(self) -> Any:
        return json.loads(self.body)


@dataclass(slots=True)
class Person:
    """One account, by its session and by its token."""

    port: int
    name: str
    token: str = ""
    _cookies: dict[str, str] = field(default_factory=dict)

    @classmethod
    def signed_up(cls, port: int, name: str) -> Self:
        """A new account; the installation lets strangers in."""
        person = cls(port, name)
        person.get("/accounts/signup/")
        form = {"username": name, "password1": _PASSWORD, "password2": _PASSWORD}
        person._require(person.post("/accounts/signup/", form), "POST /accounts/signup/", 302)
        person._make_token()
        return person

    @classmethod
    def signed_in(cls, port: int, name: str, *, link: str) -> Self:
        person = cls(port, name)
        person.get(link)
        person._make_token()
        return person

    def get(self, path: str) -> Answer:
        """A page, as their browser asks for it."""
        return self._request("GET", path, headers=self._cookie_header())

    def post(self, path: str, form: Mapping[str, str | list[str]]) -> Answer:
        """A form of a page."""
        values = {"csrfmiddlewaretoken": self._cookies.get(_CSRF_COOKIE, ""), **form}
        headers = self._cookie_header() | {"Content-Type": "application/x-www-form-urlencoded"}
        return self._request("POST", path, body=urlencode(values, doseq=True).encode(), headers=headers)

    def read(self, path: str) -> Answer:
        """GET of the API, whatever it answers."""
        return self._request("GET", path, headers={"Authorization": f"Bearer {self.token}"})

    def call(
        self,
        method: str,
        path: str,
        body: Mapping[str, object] | None = None,
        *,
        may_be_gone: bool = False,
        **headers: str,
    ) -> Answer:
        """The API under ``/api/v1``; raises ``BenchFailedError`` where it refuses."""
        sent = {"Authorization": f"Bearer {self.token}", "Content-Type": "application/json"}
        sent |= {name.replace("_", "-"): value for name, value in headers.items()}
        data = None if body is None else json.dumps(body).encode()
        answer = self._request(method, f"/api/v1{path}", body=data, headers=sent)
        self._require(answer, f"{method} {path}", 200, 201, 202, 204, *(404,) * may_be_gone)
        return answer

    def upload(self, path: str, *, name: str, content: bytes) -> Answer:
        """A file to the API, as a form sends it."""
        boundary = uuid4().hex
        disposition = f'Content-Disposition: form-data; name="file"; filename="{name}"'
        head = f"--{boundary}\r\n{disposition}\r\nContent-Type: application/octet-stream\r\n\r\n"
        headers = {
            "Authorization": f"Bearer {self.token}",
            "Content-Type": f"multipart/form-data; boundary={boundary}",
        }
        body = head.encode() + content + f"\r\n--{boundary}--\r\n".encode()
        answer = self._request("POST", f"/api/v1{path}", body=body, headers=headers)
        self._require(answer, f"POST {path}", 202)
        return answer

    def _make_token(self) -> None:
        self.get("/settings/")
        made = self.post("/settings/tokens", {"name": "proof"})
        self._require(made, "POST /settings/tokens", 201)
        found = _TOKEN.search(made.body.decode())
        assert found
        self.token = found.group()

    def _require(self, answer: Answer, what: str, *statuses: int) -> None:
        if answer.status not in statuses:
            said = answer.body.decode(errors="replace")[-2_000:]
            raise BenchFailedError(f"{what} as {self.name}: {answer.status} {said}")

    def _cookie_header(self) -> dict[str, str]:
        return {"Cookie": "; ".join(f"{name}={value}" for name, value in self._cookies.items())}

    def _request(
        self, method: str, path: str, *, body: bytes | None = None, headers: Mapping[str, str]
    ) -> Answer:
        """On a connection of its own; what is a stream of events is read to its end."""
        connection = HTTPConnection(_HOST, self.port, timeout=_TIMEOUT_S)
        try:
            connection.request(method, path, body=body, headers=dict(headers))
            response = connection.getresponse()
            if "Authorization" not in headers:
                self._keep_cookies(response.headers.get_all("Set-Cookie") or [])
            return Answer(response.status, response.read(), response.headers.get("Location", ""))
        finally:
            connection.close()

    def _keep_cookies(self, told: list[str]) -> None:
        for line in told:
            for name, morsel in SimpleCookie(line).items():
                self._cookies[name] = morsel.value
