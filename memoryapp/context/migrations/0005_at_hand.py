from django.db import migrations

# What was noted before told no difference: the snapshots do.
AT_HAND = """
UPDATE context_use SET score = -1
FROM context_contextsnapshot s, jsonb_array_elements(s.recalled) item
WHERE s.turn_id = context_use.turn_id AND s.user_id = context_use.user_id
  AND item ->> 'memory_id' = context_use.memory_id::text
  AND (item ->> 'included')::boolean AND item ->> 'reason' = 'always used'
  AND coalesce(item -> 'arms', '{}') = '{}' AND context_use.score <> 0
"""


class Migration(migrations.Migration):
    dependencies = [("context", "0004_exclusions")]

    operations = [
        migrations.RunSQL(AT_HAND, "UPDATE context_use SET score = 1 WHERE score = -1"),
    ]
