"""When a deleted conversation is gone for good is stored with it."""

from django.db import migrations, models

# The longest time that could have been promised.
CONVERSATIONS_KEEP = """
UPDATE transcript_conversation SET undo_until = deleted_at + interval '24 hours' WHERE deleted_at IS NOT NULL
"""


class Migration(migrations.Migration):
    dependencies = [("transcript", "0009_deletions_keep_their_word")]

    operations = [
        migrations.AddField(
            model_name="conversation",
            name="undo_until",
            field=models.DateTimeField(blank=True, null=True),
        ),
        migrations.RunSQL(CONVERSATIONS_KEEP, migrations.RunSQL.noop),
        migrations.RemoveIndex(model_name="conversation", name="conversation_deleted"),
        migrations.AddIndex(
            model_name="conversation",
            index=models.Index(
                condition=models.Q(("undo_until__isnull", False)),
                fields=["undo_until"],
                name="conversation_deleted",
            ),
        ),
    ]
