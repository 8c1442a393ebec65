"""How tests call the API: JSON in, and what every problem document must be."""

import json
from typing import Any

from django.http import HttpResponse
from django.test import Client

BASE = "/api/v1"


def send(client: Client, method: str, path: str, body: object = None, **headers: str) -> Any:
    """A request with a JSON body; header names are written with underscores."""
    named = {name.replace("_", "-"): value for name, value in headers.items()}
    content = "" if body is None else json.dumps(body)
    return client.generic(method, BASE + path, content, content_type="application/json", headers=named)


def assert_problem(response: HttpResponse, status: int, code: str = "") -> dict[str, Any]:
    """RFC 9457, with a sentence for whoever reads it and nothing of our insides."""
    assert response.status_code == status, response.content
    assert response["Content-Type"] == "application/problem+json"
    problem = json.loads(response.content)
    assert problem["status"] == status
    assert problem["title"]
    assert len(problem["detail"]) > 10
    assert "Traceback" not in response.content.decode()
    if code:
        assert problem["code"] == code
    return problem
