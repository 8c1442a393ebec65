"""``manage.py purge``: what was deleted leaves the files of the servers now."""

from typing import Any

from django.utils import timezone

from memoryapp.forgetting import purging, stages
from memoryapp.management.installation import InstallationCommand


class Command(InstallationCommand):
    help = (
        "Rewrite what still holds the bytes of deleted rows: tables and indexes, the write-ahead log, Redis' file. "
        "Strata goes on; each table is locked while it is rewritten."
    )

    def handle(self, *_args: Any, **_options: Any) -> None:
        done = purging.purge(on_step=lambda name: self.stdout.write(f"  … {name}"))
        for step in done.steps:
            self.stdout.write(f"  ✓ {step['name']:<10} {step['seconds']:6.1f} s  {step['detail']}".rstrip())
        stages.advance(timezone.now())
        before, after = done.bytes_before or 0, done.bytes_after or 0
        self.stdout.write(f"The database had {before:,} bytes and has {after:,}.")
