"""When a deletion becomes final is stored with it, and a summary knows all deletions that it was made of."""

import django.contrib.postgres.fields
from django.db import migrations, models

# The longest time that could have been promised.
TURNS_KEEP = """
UPDATE transcript_turn SET undo_until = deleted_at + interval '14 minutes' WHERE deletion_id IS NOT NULL
"""
SUMMARIES_KEEP = """
UPDATE transcript_summary SET deletion_ids = ARRAY[deletion_id] WHERE deletion_id IS NOT NULL
"""


class Migration(migrations.Migration):
    dependencies = [("transcript", "0008_changed_and_deleted")]

    operations = [
        migrations.AddField(
            model_name="turn",
            name="undo_until",
            field=models.DateTimeField(blank=True, null=True),
        ),
        migrations.RunSQL(TURNS_KEEP, migrations.RunSQL.noop),
        migrations.RemoveIndex(model_name="turn", name="turn_deleted"),
        migrations.AddIndex(
            model_name="turn",
            index=models.Index(
                condition=models.Q(("deletion_id__isnull", False)),
                fields=["deletion_id", "undo_until"],
                name="turn_deleted",
            ),
        ),
        migrations.AddField(
            model_name="summary",
            name="deletion_ids",
            field=django.contrib.postgres.fields.ArrayField(
                base_field=models.UUIDField(), blank=True, default=list, size=None
            ),
        ),
        migrations.RunSQL(SUMMARIES_KEEP, migrations.RunSQL.noop),
        migrations.RemoveField(model_name="summary", name="deletion_id"),
    ]
