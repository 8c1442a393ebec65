"""How much is read of a file that a stranger may have made."""

from dataclasses import dataclass

_MB = 1024 * 1024


@dataclass(frozen=True, slots=True)
class Limits:
    """All of them are far above what real exports have, and keep memory and time bounded."""

    # Unpacked, of what is read. Real exports have some hundred megabytes of JSON.
    total_bytes: int = 4096 * _MB
    # The list of an archive's files, which Python reads whole: about 40,000 files with names of usual length.
    directory_bytes: int = 4 * _MB
    # Deflate gives at most 1,032 to 1, text as repetitive as these exports 10 to 30.
    unpacked_ratio: int = 200
    archives_deep: int = 2  # an archive in an archive, as Claude's batches are
    # In memory, of one entry: a long conversation has some megabytes.
    entry_bytes: int = 96 * _MB
    # Of the file between two tokens of JSON: the longest single text, pictures written as text included.
    token_bytes: int = 64 * _MB
    text_chars: int = 100_000  # of one message or attachment: what a message of ours may have
    fact_chars: int = 2_000
    title_chars: int = 200


DEFAULT_LIMITS = Limits()
