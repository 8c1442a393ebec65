"""Everything that is stored about a person is in their archive, or is left out for a reason that is written down."""

import json
from collections.abc import Iterator

import pytest
from django.apps import apps
from django.contrib.sessions.models import Session
from django.db import models

from memoryapp.accounts.models import User
from memoryapp.portability import account_file
from memoryapp.portability.inventory import LEFT_OUT, MOVED, TOLD
from memoryapp.portability.tables import NUMBERED, OF_CONVERSATIONS, OF_MEMORIES, OF_RUNS, OF_TURNS, TABLES
from tests.portability.archives import archive_of, member
from tests.world import CONTENT, everything_of

# Its person is in its data, by no column: it is a cookie's other half, and ends with it.
WITHOUT_A_COLUMN = {Session._meta.label}


def ways_to_a_person() -> Iterator[str]:
    """Every table from which somebody can be reached: by a key to them, by a key to such a table, by an id alone."""
    tables = apps.get_models(include_auto_created=True)
    reaching = {User}
    while more := {model for model in tables if model not in reaching and leads_to(model, reaching)}:
        reaching |= more
    return (model._meta.label for model in reaching)


def leads_to(model: type[models.Model], reaching: set[type[models.Model]]) -> bool:
    fields = model._meta.get_fields()
    keys = [field for field in fields if isinstance(field, models.ForeignKey | models.OneToOneField)]
    return any(field.related_model in reaching for field in keys) or names_a_person(model)


def names_a_person(model: type[models.Model]) -> bool:
    """By a plain column: a person's id without a key, so that the row outlives them."""
    columns = model._meta.concrete_fields
    return any(column.column in {"user_id", "person_id", "changed_by", "changed_by_id"} for column in columns)


def test_every_table_with_a_way_to_a_person_is_in_the_archive_or_named_with_a_reason():
    known = MOVED | TOLD | set(LEFT_OUT)

    assert set(ways_to_a_person()) - known == set()
    assert known - {model._meta.label for model in apps.get_models(include_auto_created=True)} == set()


def test_a_table_without_a_way_is_found_by_none():
    ways = set(ways_to_a_person())

    assert {"receipts.Receipt", "account.EmailConfirmation", "accounts.User_groups", "tuning.Setting"} <= ways
    assert not {"contenttypes.ContentType", "longterm.Kind", *WITHOUT_A_COLUMN} & ways


def test_every_reason_says_one():
    assert [label for label, reason in LEFT_OUT.items() if len(reason.split()) < 4] == []
    assert not (MOVED | TOLD) & set(LEFT_OUT)


@pytest.mark.parametrize("table", TABLES, ids=lambda table: table.name)
def test_every_column_of_a_moved_table_is_kept_points_somewhere_or_is_left_for_a_reason(table):
    columns = {field.name for field in table.model._meta.local_fields}
    named = [*table.kept, *table.points, *table.many, *table.left]

    assert set(named) == columns
    assert len(named) == len(set(named))
    assert all(len(reason) > 5 for reason in table.left.values())


def test_every_pointer_leads_to_rows_that_have_numbers():
    numbered = {table.name for table in NUMBERED}

    assert {
        target for table in TABLES for target in (*table.points.values(), *table.many.values())
    } <= numbered


def test_every_told_table_is_in_the_account_file():
    told = {model._meta.label for model, _ in account_file.TOLD.values()}

    assert told | {"accounts.User"} == TOLD


@pytest.mark.django_db(transaction=True, serialized_rollback=True)
def test_every_moved_table_has_its_rows_in_the_data(alice):
    everything_of(alice)
    data = json.loads(member(archive_of(alice), "strata.json"))
    (chat,) = data["conversations"]
    (turn,) = chat["turns"]
    (memory,) = data["memories"]

    empty = [
        name
        for record, nested in (
            (chat, OF_CONVERSATIONS),
            (turn, OF_TURNS),
            (turn["run"], OF_RUNS),
            (memory, OF_MEMORIES),
        )
        for name in nested
        if name != "feedback" and not record[name]  # everybody's word is not in the world of tests
    ]

    assert empty == []
    assert all(data[name] for name in ("experiences", "uses", "refused_kinds", "settings"))
    assert turn["exclusions"]


@pytest.mark.django_db(transaction=True, serialized_rollback=True)
def test_another_persons_rows_are_in_nobodys_archive(alice, bob):
    everything_of(alice)

    for name in ("strata.json", "account.json", "index.html"):
        assert CONTENT in member(archive_of(alice), name) or name == "account.json"
        assert CONTENT not in member(archive_of(bob), name)
        assert str(alice.id) not in member(archive_of(bob), name)
