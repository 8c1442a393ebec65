from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("lifecycle", "0001_initial")]

    operations = [
        migrations.AlterField(
            model_name="lifecyclerun",
            name="job",
            field=models.CharField(
                choices=[
                    ("embedding", "Embedding"),
                    ("compaction", "Compaction"),
                    ("promotion", "Promotion"),
                    ("expiry", "Expiry"),
                    ("title", "Title"),
                ],
                max_length=12,
            ),
        ),
    ]
