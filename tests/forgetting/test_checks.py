"""What ``manage.py check --deploy`` says of servers that keep what was deleted."""

from collections.abc import Iterator

import pytest
from django.db import OperationalError, connection
from redis.exceptions import ConnectionError as RedisAwayError

from memoryapp.forgetting import checks
from memoryapp.redis_client import redis_client


@pytest.fixture
def as_plain_role(db) -> Iterator[None]:
    with connection.cursor() as cursor:
        cursor.execute("CREATE ROLE plain")
        cursor.execute("SET LOCAL ROLE plain")
    yield
    with connection.cursor() as cursor:
        cursor.execute("RESET ROLE")


def test_the_bundled_servers_are_started_as_a_purge_needs_them(db):
    assert checks.servers_forget() == []


@pytest.mark.parametrize(
    ("name", "value"),
    [("log_error_verbosity", "default"), ("log_parameter_max_length", "-1"), ("log_statement", "all")],
)
def test_a_setting_that_keeps_what_was_deleted_is_named_with_what_it_should_be(db, name, value):
    with connection.cursor() as cursor:
        cursor.execute(f"SET LOCAL {name} = '{value}'")

    (found,) = checks.servers_forget()

    assert found.id == "forgetting.W001"
    assert name in found.msg
    assert found.hint.startswith(f"Set {name} = ")


@pytest.mark.usefixtures("as_plain_role")
def test_what_the_role_may_not_do_is_named_with_the_grant():
    hints = {found.hint for found in checks.servers_forget() if found.id == "forgetting.W003"}

    assert hints == {
        "GRANT pg_checkpoint TO it.",
        "GRANT EXECUTE ON FUNCTION pg_switch_wal() TO it.",
        "GRANT pg_monitor TO it.",
        "Make it the owner of the database.",
        "ALTER ROLE … CREATEDB.",
    }


def test_a_redis_that_does_not_let_its_file_be_rewritten_is_named(db):
    client = redis_client()
    client.config_set("appendonly", "yes")
    client.execute_command("ACL", "SETUSER", "default", "-bgrewriteaof")
    try:
        (found,) = checks.servers_forget()
    finally:
        client.execute_command("ACL", "SETUSER", "default", "+bgrewriteaof")
        client.config_set("appendonly", "no")

    assert found.id == "forgetting.W004"


def test_servers_that_cannot_be_reached_are_no_warning(monkeypatch):
    def away(*_, **__):
        raise OperationalError

    def no_redis(*_, **__):
        raise RedisAwayError

    monkeypatch.setattr(checks.connection, "cursor", away)
    monkeypatch.setattr(redis_client(), "info", no_redis)

    assert [found.id for found in checks.servers_forget()] == ["forgetting.I001", "forgetting.I001"]
