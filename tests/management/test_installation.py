"""Commands on an installation find the one that is up by its data directory."""

import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import psycopg
import pytest

from memoryapp.accounts.queries import digest
from memoryapp.embedded.servers import Servers
from tests.servers import hermetic_environment, migrated_directory, throw_away_directory

PROJECT = Path(__file__).resolve().parent.parent.parent


def manage(*arguments: str, **environment: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "manage.py", *arguments],
        check=False,
        cwd=PROJECT,
        env=hermetic_environment() | environment,
        capture_output=True,
        text=True,
    )


def ask(servers: Servers, query: str) -> list[tuple[object, ...]]:
    with psycopg.connect(servers.database_url) as connection:
        return connection.execute(query).fetchall()


@pytest.fixture(scope="module")
def servers() -> Iterator[Servers]:
    """Those of an installation with its first account, as ``up`` runs them."""
    with migrated_directory() as directory, Servers(directory, is_durable=False) as started:
        prepared = manage("prepare", DATABASE_URL=started.database_url, REDIS_URL=started.redis_url)
        assert prepared.returncode == 0, prepared.stderr
        yield started


def test_a_token_is_made_there_and_is_alone_on_standard_output(servers):
    done = manage("create_token", "admin", "--data-dir", str(servers.data.path))

    secret = done.stdout.strip()
    assert ask(servers, "SELECT digest FROM accounts_apitoken") == [(digest(secret),)]
    assert done.stdout == f"{secret}\n"
    assert "not shown again" in done.stderr


def test_a_sign_in_link_is_made_there(servers):
    done = manage("sign_in_link", f"--data-dir={servers.data.path}")

    token = done.stdout.strip().removeprefix("/sign-in/")
    assert (digest(token),) in ask(servers, "SELECT digest FROM accounts_signinlink")


@pytest.fixture
def announced(servers) -> Iterator[Servers]:
    servers.announce("http://127.0.0.1:9123")
    yield servers
    servers.announce("")


def test_a_sign_in_link_has_the_address_of_the_running_application(announced):
    done = manage("sign_in_link", f"--data-dir={announced.data.path}")

    assert done.stdout.splitlines()[-1].startswith("http://127.0.0.1:9123/sign-in/")


def test_the_public_address_wins_in_a_sign_in_link(announced):
    done = manage(
        "sign_in_link", f"--data-dir={announced.data.path}", STRATA_BASE_URL="http://strata.example/"
    )

    assert done.stdout.splitlines()[-1].startswith("http://strata.example/sign-in/")


def test_a_named_database_wins_over_the_data_directory(servers):
    with throw_away_directory() as elsewhere:
        done = manage("create_token", "nobody", f"--data-dir={elsewhere}", DATABASE_URL=servers.database_url)

    assert done.stderr == "CommandError: There is no account 'nobody'.\n"


def test_without_a_running_installation_it_is_said_what_to_do():
    with throw_away_directory() as directory:
        done = manage("create_token", "admin", f"--data-dir={directory}")

    assert done.returncode == 1
    assert f"Nothing runs on {directory}. Start it with 'make up'" in done.stderr
    assert "Traceback" not in done.stderr
