from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("lifecycle", "0003_extraction")]

    operations = [
        migrations.AddIndex(
            model_name="lifecyclerun",
            index=models.Index(fields=["subject_id", "job", "-finished_at"], name="lifecycle_run_of_subject"),
        ),
    ]
