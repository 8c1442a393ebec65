from django.conf import settings
from django.db import migrations, models
import django.db.models.deletion


class Migration(migrations.Migration):

    dependencies = [
        ("longterm", "0008_forgettings_and_changes"),
        migrations.swappable_dependency(settings.AUTH_USER_MODEL),
    ]

    operations = [
        migrations.AddField(
            model_name="kindchange",
            name="undone_by",
            field=models.ForeignKey(
                blank=True,
                null=True,
                on_delete=django.db.models.deletion.SET_NULL,
                related_name="+",
                to=settings.AUTH_USER_MODEL,
            ),
        ),
        migrations.AddField(
            model_name="kindchange",
            name="hidden_rows",
            field=models.PositiveIntegerField(default=0),
        ),
        migrations.AddField(
            model_name="kindchange",
            name="deleted_rows",
            field=models.PositiveIntegerField(default=0),
        ),
    ]
