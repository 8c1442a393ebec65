"""What the public address decides about cookies: plain http on localhost cannot carry Secure ones."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
from django.conf import settings as django_settings
from django.urls import reverse

from tests.servers import hermetic_environment

NAMES = (
    "SESSION_COOKIE_NAME",
    "SESSION_COOKIE_SECURE",
    "SESSION_COOKIE_HTTPONLY",
    "SESSION_COOKIE_SAMESITE",
    "CSRF_COOKIE_NAME",
    "CSRF_COOKIE_SECURE",
    "CSRF_COOKIE_HTTPONLY",
    "CSRF_TRUSTED_ORIGINS",
)
PRINT = f"""
import json
import memoryapp.settings.dev as settings
print(json.dumps({{name: getattr(settings, name) for name in {NAMES!r}}}))
"""


def settings_of(base_url: str) -> dict[str, object]:
    """The settings that a new process computes for this address."""
    environment = {**hermetic_environment(), "STRATA_BASE_URL": base_url, "STRATA_SECRETS_DIR": os.devnull}
    root = Path(django_settings.BASE_DIR)
    printed = subprocess.run(
        [sys.executable, "-c", PRINT],
        cwd=root,
        env=environment,
        capture_output=True,
        text=True,
        check=True,
        timeout=60,
    )
    return json.loads(printed.stdout)


def test_https_gets_secure_cookies_bound_to_the_host():
    computed = settings_of("https://strata.example")

    assert computed == {
        "SESSION_COOKIE_NAME": "__Host-session",
        "SESSION_COOKIE_SECURE": True,
        "SESSION_COOKIE_HTTPONLY": True,
        "SESSION_COOKIE_SAMESITE": "Lax",
        "CSRF_COOKIE_NAME": "__Host-csrf",
        "CSRF_COOKIE_SECURE": True,
        "CSRF_COOKIE_HTTPONLY": True,
        "CSRF_TRUSTED_ORIGINS": ["https://strata.example"],
    }


@pytest.mark.parametrize("base_url", ["", "http://localhost:8000"])
def test_plain_http_gets_cookies_that_browsers_accept_there(base_url):
    computed = settings_of(base_url)

    assert computed["SESSION_COOKIE_SECURE"] is False
    assert computed["CSRF_COOKIE_SECURE"] is False
    assert not str(computed["SESSION_COOKIE_NAME"]).startswith("__")
    assert computed["SESSION_COOKIE_HTTPONLY"] is True
    assert computed["SESSION_COOKIE_SAMESITE"] == "Lax"


def test_the_session_cookie_is_out_of_reach_of_scripts_and_of_other_sites(client, alice, settings):
    response = client.post(reverse("account_login"), {"login": "alice", "password": "alice-password"})

    cookie = response.cookies[settings.SESSION_COOKIE_NAME]
    assert cookie["httponly"]
    assert cookie["samesite"] == "Lax"
    assert cookie["path"] == "/"
    assert cookie["max-age"] == 14 * 24 * 3600
