"""The published contract: what it says, who may read it, and that it changes only on purpose."""

import json
import os
import re
from pathlib import Path

import pytest
from django.test import Client

from memoryapp.api import api as ninja
from tests.api.routes import ROUTES

SNAPSHOT = Path(__file__).with_name("openapi.json")
SCHEMA = "/api/v1/openapi.json"
DOCS = "/api/v1/docs"


def test_the_contract_is_the_one_that_was_reviewed():
    """After a change on purpose: ``UPDATE_OPENAPI=1 pytest tests/api/test_openapi.py``, and review the difference."""
    current = json.dumps(ninja.get_openapi_schema(), indent=2, default=str) + "\n"
    if os.environ.get("UPDATE_OPENAPI"):
        SNAPSHOT.write_text(current)

    assert json.loads(current) == json.loads(SNAPSHOT.read_text())


@pytest.mark.parametrize("route", ROUTES, ids=str)
def test_every_operation_documents_its_refusals(route):
    operation = ninja.get_openapi_schema(path_prefix="")["paths"][route.path][route.method.lower()]

    assert {400, 401, 403, 404, 422} <= {int(status) for status in operation["responses"]}
    assert operation["security"]


def test_the_schema_is_served_to_programs_and_to_people(api, client, alice):
    client.force_login(alice)

    assert api.get(SCHEMA).json()["openapi"] == "3.1.0"
    assert client.get(SCHEMA).json()["info"]["title"] == "Strata"


@pytest.mark.parametrize("path", [SCHEMA, DOCS])
def test_the_documentation_is_not_for_strangers(client, db, path):
    response = client.get(path)

    assert response.status_code == 302
    assert response["Location"].startswith("/accounts/login/")


def test_the_documentation_page_keeps_to_the_content_policy(client, alice):
    client.force_login(alice)

    html = client.get(DOCS).content.decode()

    runnable = [tag for tag in re.findall(r"<script[^>]*>", html) if "application/json" not in tag]
    assert runnable
    assert all('src="/static/' in tag for tag in runnable)
    assert "<style" not in html
    assert not re.search(r"\son\w+=|style=|(src|href)=\"https?:", html)


def test_every_file_of_the_documentation_page_is_served(client, alice):
    client.force_login(alice)
    html = client.get(DOCS).content.decode()

    for url in re.findall(r'(?:src|href)="(/static/[^"]+)"', html):
        assert Client().get(url).status_code == 200, url
