"""The production settings refuse what is unsafe, in one message, whichever program loads them."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.deployment.containers import PROJECT, argv, with_our_programs
from tests.servers import hermetic_environment

KEY = "k3J8fQ2mZ7pX1vB6nR4tY9wL5cH0sD-aG_uEiO3qTzMxNrVbKjFhPyWd"
SAFE = {
    "SECRET_KEY": KEY,
    "DATABASE_URL": "postgresql://nobody@127.0.0.1:1/none",
    "REDIS_URL": "redis://127.0.0.1:1/0",
    "STRATA_BASE_URL": "https://strata.example",
}


def run(*command: str, **environment: str) -> subprocess.CompletedProcess[str]:
    variables = {
        **hermetic_environment(),
        "DJANGO_SETTINGS_MODULE": "memoryapp.settings.production",
        # Nothing mounted on this machine may speak for a setting.
        "STRATA_SECRETS_DIR": os.devnull,
        **environment,
    }
    return subprocess.run(
        command,
        cwd=PROJECT,
        env=with_our_programs(variables),
        capture_output=True,
        text=True,
        check=False,
        timeout=60,
    )


def load(expression: str = "None", **changed: str) -> subprocess.CompletedProcess[str]:
    """Import the safe settings with some values changed; an empty one counts as not set."""
    program = f"import memoryapp.settings.production as settings; print({expression})"
    return run(sys.executable, "-c", program, **{**SAFE, **changed})


@pytest.mark.parametrize(
    "command",
    [
        ["python", "manage.py", "check"],
        argv("migrate"),
        argv("worker-turns"),
        argv("worker-memory"),
        argv("beat"),
        argv("web", port="0"),
    ],
    ids=lambda command: " ".join(command[:3]),
)
def test_every_program_refuses_defaults_with_one_message_and_no_traceback(command: list[str]) -> None:
    refused = run(*command)

    assert refused.returncode == 1
    assert "Traceback" not in refused.stderr
    assert refused.stderr.splitlines() == [
        "Refusing to start in production:",
        "- SECRET_KEY must be set to at least 50 random characters.",
        "- DATABASE_URL must name the Postgres server.",
        "- REDIS_URL must name the Redis server.",
        "- STRATA_BASE_URL must be the public address, e.g. https://strata.example.",
    ]


@pytest.mark.parametrize(
    ("changed", "said"),
    [
        ({"SECRET_KEY": "short"}, "SECRET_KEY must be set"),
        ({"SECRET_KEY": "ab" * 40}, "SECRET_KEY must be set"),
        ({"SECRET_KEY": "django-insecure-" + KEY}, "SECRET_KEY must be random"),
        ({"SECRET_KEY": "tests-only-" + KEY}, "SECRET_KEY must be random"),
        ({"SECRET_KEY": "Change-Me-" + KEY}, "SECRET_KEY must be random"),
        ({"DATABASE_URL": ""}, "DATABASE_URL"),
        ({"REDIS_URL": ""}, "REDIS_URL"),
        ({"STRATA_BASE_URL": "strata.example"}, "must be the public address"),
        ({"STRATA_BASE_URL": "http://strata.example"}, "must be https"),
        ({"STRATA_BASE_URL": "https://strata.example/chat"}, "host alone"),
        ({"STRATA_BASE_URL": "https://user@strata.example"}, "host alone"),
        ({"STRATA_ALLOWED_HOSTS": "*"}, "must not be '*'"),
        ({"STRATA_ALLOWED_HOSTS": "other.example"}, "must include strata.example"),
    ],
)
def test_unsafe_value_is_refused_by_name_and_not_shown(changed: dict[str, str], said: str) -> None:
    refused = load(**changed)

    assert refused.returncode == 1
    assert said in refused.stderr
    assert refused.stderr.count("\n- ") == 1
    assert KEY not in refused.stderr


def test_debug_cannot_be_turned_on() -> None:
    loaded = load("settings.DEBUG", DEBUG="1", DJANGO_DEBUG="1", STRATA_DEBUG="1")

    assert loaded.stdout == "False\n"


@pytest.mark.parametrize(
    ("base_url", "hosts"),
    [
        ("https://strata.example", ["strata.example"]),
        ("http://localhost:8000", ["localhost"]),
        ("http://[::1]:8000", ["[::1]"]),
    ],
)
def test_only_the_public_host_is_answered(base_url: str, hosts: list[str]) -> None:
    assert load("settings.ALLOWED_HOSTS", STRATA_BASE_URL=base_url).stdout == f"{hosts}\n"


def test_https_address_makes_cookies_and_transport_secure() -> None:
    names = ("SESSION_COOKIE_SECURE", "CSRF_COOKIE_SECURE", "SECURE_SSL_REDIRECT", "SECURE_HSTS_SECONDS")

    https = load(f"[getattr(settings, name) for name in {names}]")
    loopback = load(f"[getattr(settings, name) for name in {names}]", STRATA_BASE_URL="http://localhost:8000")

    assert https.stdout == "[True, True, True, 31536000]\n"
    assert loopback.stdout == "[False, False, False, 0]\n"


def test_deployment_check_passes_without_a_warning() -> None:
    checked = run(sys.executable, "manage.py", "check", "--deploy", "--fail-level", "WARNING", **SAFE)

    assert checked.returncode == 0, checked.stderr


def test_secrets_are_read_from_files(tmp_path: Path) -> None:
    for name in ("SECRET_KEY", "DATABASE_URL", "REDIS_URL"):
        (tmp_path / name.lower()).write_text(SAFE[name] + "\n")

    loaded = load(
        "settings.SECRET_KEY", STRATA_SECRETS_DIR=str(tmp_path), SECRET_KEY="", DATABASE_URL="", REDIS_URL=""
    )

    assert loaded.stdout == f"{KEY}\n"
