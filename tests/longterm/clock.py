"""A clock of the database that stands still: what decides about expiry asks no other."""

from collections.abc import Iterator
from contextlib import contextmanager
from datetime import datetime

from django.db import connection

# Found before the functions of the same name that are built in. What asks for the time in SQL, by whichever name,
# asks one of them.
STOPPED = """
CREATE SCHEMA IF NOT EXISTS stopped;
CREATE OR REPLACE FUNCTION stopped.now() RETURNS timestamptz LANGUAGE sql STABLE AS
    $$ SELECT pg_catalog.current_setting('stopped.at')::pg_catalog.timestamptz $$;
CREATE OR REPLACE FUNCTION stopped.statement_timestamp() RETURNS timestamptz LANGUAGE sql STABLE AS
    $$ SELECT pg_catalog.current_setting('stopped.at')::pg_catalog.timestamptz $$;
"""


@contextmanager
def stopped_clock(at: datetime) -> Iterator[None]:
    """For the rest of the test's transaction; ``turn_to`` moves it."""
    with connection.cursor() as cursor:
        cursor.execute("SHOW search_path")
        (path,) = cursor.fetchone()
        turn_to(at)
        cursor.execute(STOPPED)
        cursor.execute(f"SET LOCAL search_path = stopped, pg_catalog, {path}")
        try:
            yield
        finally:
            cursor.execute(f"SET LOCAL search_path = {path}")


def turn_to(at: datetime) -> None:
    with connection.cursor() as cursor:
        cursor.execute("SELECT set_config('stopped.at', %s, true)", [at.isoformat()])
