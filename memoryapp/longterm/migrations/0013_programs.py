"""Which program said a memory: of older ones as the activity tells it, as far back as that is kept."""

from django.db import migrations, models

FROM_ACTIVITY = """
UPDATE longterm_memory AS memory
SET program = entry.actor_name
FROM (
    SELECT DISTINCT ON (subject_id) subject_id, actor_name
    FROM activity_entry
    WHERE actor = 'program' AND verb IN ('added', 'replaced', 'held') AND tier = 'longterm'
    ORDER BY subject_id, recorded_at
) AS entry
WHERE memory.id = entry.subject_id AND memory.channel = 'api'
"""


class Migration(migrations.Migration):
    dependencies = [
        ("longterm", "0012_ids_in_the_index_of_ends"),
        ("activity", "0001_initial"),
    ]

    operations = [
        migrations.AddField(
            model_name="memory",
            name="program",
            field=models.CharField(blank=True, max_length=150),
        ),
        migrations.RunSQL(FROM_ACTIVITY, migrations.RunSQL.noop),
    ]
