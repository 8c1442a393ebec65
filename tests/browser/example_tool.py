"""The tool of ``docs/example-tool``, installed: it asks before it sends a note."""

import shutil
from pathlib import Path

from tests.stack import PROJECT

EXAMPLE = PROJECT / "docs" / "example-tool" / "strata_example_tool.py"


def install_example(packages: Path) -> None:
    """As pip would, without asking a registry for what builds it."""
    shutil.copy(EXAMPLE, packages)
    metadata = packages / "strata_example_tool-1.0.dist-info"
    metadata.mkdir()
    (metadata / "METADATA").write_text("Metadata-Version: 2.1\nName: strata-example-tool\nVersion: 1.0\n")
    (metadata / "entry_points.txt").write_text("[strata.tools]\nexample = strata_example_tool:tools\n")
