from pathlib import Path

from memoryapp.portability.importers.limits import DEFAULT_LIMITS

GUIDE = (Path(__file__).parents[3] / "docs/importing.md").read_text()


def test_the_guide_has_the_limits_as_they_are():
    megabytes = 1024 * 1024

    for words in (
        f"{DEFAULT_LIMITS.text_chars:,} characters",
        f"more than {DEFAULT_LIMITS.entry_bytes // megabytes} MB",
        f"above {DEFAULT_LIMITS.token_bytes // megabytes} MB",
        f"{DEFAULT_LIMITS.total_bytes // megabytes // 1024} GB unpacked",
        f"{DEFAULT_LIMITS.unpacked_ratio} times its size",
    ):
        assert words in GUIDE
