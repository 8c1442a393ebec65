"""``manage.py verify_receipt ID | --all``: whether what receipts say is gone is gone."""

import json
from typing import Any
from uuid import UUID

from django.core.management.base import CommandError, CommandParser

from memoryapp.forgetting import verifying
from memoryapp.forgetting.verifying import Verdict
from memoryapp.management.installation import InstallationCommand


class Command(InstallationCommand):
    help = (
        "Check receipts against the database: the signature, that no row is left, that tombstones stand; with --text "
        "also that these words are among what was forgotten and nowhere in what that person has. Exit status 1 when "
        "something is wrong."
    )

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("receipt", metavar="ID", nargs="?", type=UUID)
        parser.add_argument("--all", action="store_true", help="every receipt")
        parser.add_argument("--text", help="the words that were forgotten; they are not kept or logged")
        parser.add_argument("--json", action="store_true", help="one object a line")

    def handle(
        self,
        *_args: Any,
        receipt: UUID | None,
        all: bool,  # noqa: A002 - the option's name
        text: str | None,
        json: bool,
        **_options: Any,
    ) -> None:
        if (receipt is None) == (not all):
            raise CommandError("Name one receipt, or ask for --all.")
        verdicts = list(verifying.verdicts(receipt, text=text))
        if receipt and not verdicts:
            raise CommandError("There is no such receipt.")
        for verdict in verdicts:
            self.stdout.write(_json(verdict) if json else _line(verdict))
        wrong = sum(not verdict.is_right for verdict in verdicts)
        if not json:
            self.stdout.write(f"{len(verdicts)} looked at, {wrong} not as they say.")
        if wrong:
            raise SystemExit(1)


def _line(verdict: Verdict) -> str:
    found = "  ".join(f"{check.name}: {check.said}" for check in verdict.checks)
    return f"{'✓' if verdict.is_right else '✗'} {verdict.receipt_id}  {found}"


def _json(verdict: Verdict) -> str:
    checks = {check.name: {"ok": check.is_right, "said": check.said} for check in verdict.checks}
    return json.dumps({"receipt": str(verdict.receipt_id), "ok": verdict.is_right, "checks": checks})
