"""Words are found by ``terms`` alone; backlogs by the model of the vector; vectors stay in their rows."""

from typing import Any

from django.db import migrations, models

from memoryapp.policies import terms

# By default a row of more than 2 kB has its vector moved out, where reading it takes a lookup each. Up to a whole
# page now: the scan of recall reads all of one person's. Rows that are there already follow when they are written.
INLINE = "ALTER TABLE longterm_memory SET (toast_tuple_target = 8160)"
AS_BEFORE = "ALTER TABLE longterm_memory RESET (toast_tuple_target)"

BATCH = 500


def keep_terms(apps: Any, _schema_editor: Any) -> None:
    """Words for memories of before there were terms."""
    memory_model = apps.get_model("longterm", "Memory")
    rows = memory_model.objects.filter(terms=b"").only("id", "statement").order_by("id")
    changed = []
    for memory in rows.iterator(chunk_size=BATCH):
        memory.terms = terms.packed(terms.terms(memory.statement))
        changed.append(memory)
    memory_model.objects.bulk_update(changed, ["terms"], batch_size=BATCH)


class Migration(migrations.Migration):
    dependencies = [("longterm", "0005_feedback_and_terms")]

    operations = [
        migrations.RemoveIndex(model_name="experience", name="experience_not_embedded"),
        migrations.RemoveIndex(model_name="memory", name="memory_search"),
        migrations.RemoveIndex(model_name="memory", name="memory_not_embedded"),
        migrations.RemoveField(model_name="memory", name="search_vector"),
        migrations.AddIndex(
            model_name="experience",
            index=models.Index(fields=["embedding_model", "id"], name="experience_model"),
        ),
        migrations.AddIndex(
            model_name="memory", index=models.Index(fields=["embedding_model", "id"], name="memory_model")
        ),
        migrations.RunSQL(INLINE, AS_BEFORE),
        migrations.RunPython(keep_terms, migrations.RunPython.noop),
    ]
