"""The question that a memory's words answer, beside the key it was given."""

from typing import Any

from django.db import migrations, models

from memoryapp.longterm.neighbours import storable_slot

BATCH = 500


def keep_slots(apps: Any, _schema_editor: Any) -> None:
    """Of memories of before there were any."""
    memory_model = apps.get_model("longterm", "Memory")
    changed = []
    for memory in memory_model.objects.only("id", "statement").order_by("id").iterator(chunk_size=BATCH):
        memory.slot = storable_slot(memory.statement)
        if memory.slot:
            changed.append(memory)
    memory_model.objects.bulk_update(changed, ["slot"], batch_size=BATCH)


class Migration(migrations.Migration):
    dependencies = [("longterm", "0006_vectors_inline")]

    operations = [
        migrations.AddField(
            model_name="memory",
            name="slot",
            field=models.CharField(blank=True, default="", max_length=100),
            preserve_default=False,
        ),
        migrations.RunPython(keep_slots, migrations.RunPython.noop),
    ]
