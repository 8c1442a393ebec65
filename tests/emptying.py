"""The tables between two tests that commit: empty, but for what the migrations wrote.

Django truncates every table and writes the rows of migrations again, one at a time: a quarter of a second for each
test, most of it for tables that had nothing in them.
"""

from django.db import connection
from django.db.backends.utils import CursorWrapper

_COLUMNS = """
SELECT string_agg(quote_ident(column_name), ', ' ORDER BY ordinal_position) FROM information_schema.columns
WHERE table_schema = 'public' AND table_name = %s AND is_generated = 'NEVER'
"""


def keep_what_migrations_wrote() -> None:
    """From now on a flush, as Django makes it after a test that commits, leaves exactly these rows."""
    tables = connection.introspection.django_table_names(only_existing=True, include_views=False)
    with connection.cursor() as cursor:
        cursor.execute("CREATE SCHEMA written_by_migrations")
        back = [_back(cursor, table) for table in tables]
    # Foreign keys are checked when the transaction ends, so the order of the tables is no matter.
    empty = [f'DELETE FROM "{table}"' for table in tables]
    flush = [";\n".join([*empty, *filter(None, back)])]
    connection.ops.sql_flush = lambda *_, **__: flush
    connection._test_serialized_contents = "[]"  # what Django would write again


def _back(cursor: CursorWrapper, table: str) -> str:
    """The statement that writes the rows of the table again; "" where it has none."""
    cursor.execute(f'SELECT EXISTS (SELECT FROM "{table}")')
    if not cursor.fetchone()[0]:
        return ""
    cursor.execute(f'CREATE TABLE written_by_migrations."{table}" AS TABLE "{table}"')
    cursor.execute(_COLUMNS, [table])
    columns = cursor.fetchone()[0]
    return f'INSERT INTO "{table}" ({columns}) SELECT {columns} FROM written_by_migrations."{table}"'
