"""The planner keeps no samples of what people wrote: they would outlive it in pg_statistic until the next ANALYZE.

No query is planned by these values: rows are found by their person, by keys, or by all of a person's rows being read.
"""

from django.db import migrations
from django.db.backends.base.schema import BaseDatabaseSchemaEditor
from django.db.migrations.state import StateApps

COLUMNS = {
    "longterm_memory": ("statement", "quote", "terms", "embedding"),
    "longterm_memoryversion": ("statement",),
    "longterm_memorysource": ("quote",),
    "longterm_experience": ("goal", "worked", "avoid", "embedding"),
    "scratchpad_run": ("goal", "pad"),
    "scratchpad_step": ("arguments", "observation", "brief", "error"),
    "scratchpad_checkpoint": ("delta",),
    "scratchpad_padedit": ("target", "text"),
    "scratchpad_approval": ("arguments", "why", "touches", "reason"),
    "transcript_conversation": ("title",),
    "transcript_message": ("text", "search_vector", "speaker"),
    "transcript_messagekey": ("terms", "embedding"),
    "transcript_pinnedline": ("text",),
    "transcript_summary": ("text",),
    "transcript_turn": ("partial_text", "wait_message", "error_message"),
    "django_session": ("session_data",),
    "django_admin_log": ("object_repr", "change_message"),
}

# What was sampled before; PostgreSQL 18 has the function, an older server loses it with the next purge.
CLEAR = """
DO $$ BEGIN
    IF to_regproc('pg_catalog.pg_clear_attribute_stats') IS NOT NULL THEN
        EXECUTE format(
            'SELECT pg_catalog.pg_clear_attribute_stats(%L, %L, %L, false)', current_schema(), '{table}', '{column}'
        );
    END IF;
END $$
"""


def stop(_apps: StateApps, schema_editor: BaseDatabaseSchemaEditor) -> None:
    for table, columns in COLUMNS.items():
        for column in columns:
            schema_editor.execute(f'ALTER TABLE "{table}" ALTER COLUMN "{column}" SET STATISTICS 0', None)
            schema_editor.execute(CLEAR.format(table=table, column=column), None)


def go_on(_apps: StateApps, schema_editor: BaseDatabaseSchemaEditor) -> None:
    for table, columns in COLUMNS.items():
        for column in columns:
            schema_editor.execute(f'ALTER TABLE "{table}" ALTER COLUMN "{column}" SET STATISTICS -1', None)


class Migration(migrations.Migration):
    dependencies = [
        ("forgetting", "0001_purges"),
        ("admin", "0003_logentry_add_action_flag_choices"),
        ("sessions", "0001_initial"),
        ("longterm", "0012_ids_in_the_index_of_ends"),
        ("scratchpad", "0003_pad_edits_and_keeping"),
        ("transcript", "0010_conversations_keep_their_word"),
    ]

    operations = [migrations.RunPython(stop, go_on)]
