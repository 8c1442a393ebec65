"""Rules of the architecture that no type checker and no import contract can see."""

import ast
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pytest
from django.apps import apps
from django.db import models

from memoryapp.accounts.models import User

ROOT = Path(__file__).parents[1]
SOURCES = sorted(path for package in ("memoryapp", "chat") for path in (ROOT / package).rglob("*.py"))
TIERS = ("scratchpad", "transcript", "longterm")
OURS = (
    *("accounts", "activity", "receipts", "tooling", "tuning", *TIERS, "context", "lifecycle"),
    *("forgetting", "portability"),
)
MODELS = [model for label in OURS for model in apps.get_app_config(label).get_models()]

# Not about one person: the person themselves, and what an admin sets for everyone.
WITHOUT_USER = {"User", "Kind", "KindChange", "McpServer", "Setting", "SettingChange"}
# Its person by id alone, whom it outlives: a restored backup is told by it what to forget again.
WITHOUT_USER |= {"Receipt"}
# Of the whole installation.
WITHOUT_USER |= {"Purge"}
# Unique without the user, each for a reason.
UNIQUE_ALONE = {
    ("User", "username"): "it is the user",
    ("User", "user_email_unique"): "it is the user",
    ("ApiToken", "digest"): "the user is found by it",
    ("SignInLink", "digest"): "the user is found by it",
    ("Kind", "slug"): "kinds are everyone's",
    ("Kind", "kind_one_per_subject"): "kinds are everyone's",
    ("McpServer", "slug"): "servers are everyone's",
    ("Setting", "name"): "settings are everyone's",
    ("Run", "turn"): "a turn is one person's already, and has one run",
}
# What `__str__` may show: none of it is what somebody said.
SHOWN = {
    ("User", "username"): "the admin has to tell people apart",
    ("Kind", "label"): "written by an admin, for everyone",
    ("McpServer", "name"): "written by an admin, for everyone",
    ("ApiToken", "prefix"): "made to be shown: it opens nothing",
}
MARKER = "marmalade"


def parsed() -> Iterator[tuple[Path, ast.Module]]:
    for path in SOURCES:
        yield path.relative_to(ROOT), ast.parse(path.read_text(encoding="utf-8"))


def manager_uses() -> Iterator[tuple[Path, str]]:
    """``(file, model)`` of every ``Model.objects``."""
    for path, tree in parsed():
        for node in ast.walk(tree):
            if isinstance(node, ast.Attribute) and node.attr in {
                "objects",
                "_default_manager",
                "_base_manager",
            }:
                yield path, ast.unparse(node.value).rsplit(".", 1)[-1]


# Where a tier reads and writes its tables: its operations are in several files where there are many.
WRITES = {"operations", "conversations", "branches", "summaries", "experiences", "approvals", "claims"}
# What reads the transcript for long-term memory notes that it was read, and writes what it found, as one.
WRITES |= {"sources", "extraction"}
# One use case each; what they have in common is in files that they alone use.
WRITES |= {"feedback", "withdrawal", "kinds", "importing"}
WRITES |= {"keys", "redaction", "deletions", "retention"}
WRITES |= {"forgettings", "refusals", "lifetimes", "backdating"}
WRITES |= {"switches"}
# A restored backup forgets again what was forgotten after it was made.
WRITES |= {"erasing"}
WRITES |= {"unsettling", "quotes"}
WRITES |= {"kind_changes", "changed_kinds"}
# An import writes conversation by conversation, an export reads everything as it is at one moment.
WRITES |= {"merging", "archive_writing"}
# Of the scratchpad: what its person does to a pad, and to the records.
WRITES |= {"edits", "records"}
OWN_FILES = {
    "experience_queries",
    "tombstones",
    "tallies",
    "checkups",
    "ending",
    "filters",
    "extents",
    "kind_effects",
    "neighbours",
    "reconciling",
    "restoring",
    "history",
    "listing",
    "undoable",
    "queries",
    "queue",
    "search",
    "timeline",
    "figures",
    "browsing",
    "tree",
    "record_ages",
    "models",
    *WRITES,
}


# An archive is of the rows of every tier as they are, a restore writes them so, an import asks whether they are there.
ARCHIVED = {"records", "restoring", "identity"}


def test_the_tables_of_a_tier_are_touched_by_its_own_reads_and_writes_alone():
    room_of = {model.__name__: label for label in TIERS for model in apps.get_app_config(label).get_models()}

    strangers = [
        f"{path}: {name}.objects"
        for path, name in manager_uses()
        if name in room_of
        and not (path.parts[:2] == ("memoryapp", "portability") and path.stem in ARCHIVED)
        and not (
            path.parts[:2] == ("memoryapp", room_of[name])
            and (path.stem in OWN_FILES or "migrations" in path.parts)
        )
    ]

    assert len(list(manager_uses())) > 50
    assert strangers == []


def is_transaction(node: ast.AST) -> bool:
    return isinstance(node, ast.With) and any("atomic(" in ast.unparse(item) for item in node.items)


SLOW = {
    "get_chat_model",
    "get_embedder",
    "stream",
    "count_tokens",
    "embed_passages",
    "embed_queries",
    "embed_memory",
    "embed_backlog",
    "recall",
    "compact",
    "compact_after",
    "summarise_again",
    "by_model",
    "whole_reply",
    "sleep",
    "publish",
}


def test_no_model_embedder_or_network_is_waited_for_inside_a_transaction():
    transactions = [
        (path, node) for path, tree in parsed() for node in ast.walk(tree) if is_transaction(node)
    ]

    waiting = [
        f"{path}:{call.lineno}: {ast.unparse(call.func)}"
        for path, transaction in transactions
        for call in ast.walk(transaction)
        if isinstance(call, ast.Call) and ast.unparse(call.func).rsplit(".", 1)[-1] in SLOW
    ]

    assert len(transactions) > 15
    assert waiting == []


def test_only_operations_open_transactions():
    strangers = {
        str(path)
        for path, tree in parsed()
        for node in ast.walk(tree)
        if is_transaction(node) and path.stem not in WRITES
    }

    assert strangers == set()


@pytest.mark.parametrize("model", MODELS, ids=lambda model: model.__name__)
def test_a_row_about_a_person_names_the_person(model):
    if model.__name__ in WITHOUT_USER:
        return

    field = model._meta.get_field("user")

    assert field.related_model is User
    assert field.remote_field.on_delete is models.CASCADE
    # A sweep over everyone's rows is logged as nobody's.
    assert field.null is (model.__name__ == "LifecycleRun")


@pytest.mark.parametrize("model", MODELS, ids=lambda model: model.__name__)
def test_what_is_unique_is_unique_for_a_person(model):
    unique = [field.name for field in model._meta.local_fields if field.unique and not field.primary_key]
    unique += [
        constraint.name
        for constraint in model._meta.constraints
        if isinstance(constraint, models.UniqueConstraint)
        and "user" not in constraint.fields
        and models.F("user") not in constraint.expressions
    ]

    assert [name for name in unique if (model.__name__, name) not in UNIQUE_ALONE] == []


@pytest.mark.parametrize("model", MODELS, ids=lambda model: model.__name__)
def test_the_text_of_a_row_never_shows_what_somebody_said(model):
    texts = {
        field.name: [MARKER] if isinstance(field, models.JSONField) else MARKER
        for field in model._meta.local_concrete_fields
        if isinstance(field, models.CharField | models.TextField | models.JSONField) and not field.choices
        if (model.__name__, field.name) not in SHOWN
    }

    assert MARKER not in str(model(**texts))
    assert MARKER not in repr(model(**texts))


def test_every_index_and_constraint_has_a_name_of_its_own():
    names = Counter(
        named.name for model in MODELS for named in (*model._meta.indexes, *model._meta.constraints)
    )

    assert len(names) > 30
    assert [name for name, uses in names.items() if uses > 1] == []


def test_a_celery_task_takes_ids_only():
    tasks = [
        (path, node)
        for path, tree in parsed()
        for node in ast.walk(tree)
        if isinstance(node, ast.FunctionDef) and any("task" in ast.unparse(d) for d in node.decorator_list)
    ]

    arguments = {(str(path), argument.arg) for path, task in tasks for argument in task.args.args}

    assert len(tasks) >= 4
    assert {name for _, name in arguments if not name.endswith("_id")} == set()
