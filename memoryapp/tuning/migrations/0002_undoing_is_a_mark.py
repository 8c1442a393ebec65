"""That an undo set a value is a mark, and no word before its reason: pages say it in their reader's language."""

from django.apps.registry import Apps
from django.db import migrations, models
from django.db.backends.base.schema import BaseDatabaseSchemaEditor

PREFIX = "Undone: "


def mark(apps: Apps, _schema_editor: BaseDatabaseSchemaEditor) -> None:
    for row in apps.get_model("tuning", "Setting").objects.filter(reason__startswith=PREFIX):
        row.reason, row.is_undoing = row.reason.removeprefix(PREFIX), True
        row.save(update_fields=["reason", "is_undoing"])


class Migration(migrations.Migration):
    dependencies = [("tuning", "0001_initial")]

    operations = [
        migrations.AddField(
            model_name="setting", name="is_undoing", field=models.BooleanField(default=False)
        ),
        migrations.RunPython(mark, migrations.RunPython.noop),
    ]
