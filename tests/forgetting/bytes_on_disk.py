"""What lies in the files of a running PostgreSQL and Valkey, looked at from outside."""

from pathlib import Path

from django.conf import settings
from django.db import connection
from psycopg.conninfo import conninfo_to_dict


def data_directory() -> Path:
    """Of the servers of this test run: their sockets lie in it."""
    return Path(str(conninfo_to_dict(settings.DATABASE_URL)["host"])).parent


def files_holding(text: str, *, directory: str = "") -> list[str]:
    """Every file below that holds these bytes, after all that is dirty has been written."""
    with connection.cursor() as cursor:
        cursor.execute("CHECKPOINT")
    root = data_directory() / directory
    wanted = text.encode()
    return sorted(
        str(path.relative_to(root)) for path in root.rglob("*") if path.is_file() and wanted in _read(path)
    )


def _read(path: Path) -> bytes:
    try:
        return path.read_bytes()
    except FileNotFoundError:  # a temporary file of the server
        return b""
