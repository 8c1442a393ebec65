"""A key holds all that a search reads of its message; vectors stay in their rows; what is left out has an index."""

from django.db import migrations, models

# As for memories: of a row of more than 2 kB the vector would be moved out, where reading it takes a lookup each.
INLINE = "ALTER TABLE transcript_messagekey SET (toast_tuple_target = 8160)"
AS_BEFORE = "ALTER TABLE transcript_messagekey RESET (toast_tuple_target)"


class Migration(migrations.Migration):
    dependencies = [("transcript", "0006_keys_and_trust")]

    operations = [
        # Keys are derived: those that there may be are made again by the sweep.
        migrations.RunSQL("DELETE FROM transcript_messagekey", migrations.RunSQL.noop),
        migrations.RemoveIndex(model_name="messagekey", name="message_not_embedded"),
        migrations.AddField("messagekey", "conversation_id", models.UUIDField()),
        migrations.AddField("messagekey", "position", models.PositiveIntegerField()),
        migrations.AddField("messagekey", "said_at", models.DateTimeField()),
        migrations.AddField("messagekey", "speaker", models.IntegerField(default=0)),
        migrations.AddIndex(
            "messagekey", models.Index(fields=["embedding_model", "message"], name="message_key_model")
        ),
        migrations.AddIndex(
            "turn",
            models.Index(
                fields=["user"],
                condition=models.Q(
                    ("is_current", False), ("status__in", ["queued", "running", "waiting"]), _connector="OR"
                ),
                include=("id",),
                name="turn_not_recalled",
            ),
        ),
        migrations.RunSQL(INLINE, AS_BEFORE),
    ]
