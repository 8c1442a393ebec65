"""Experiences are recalled: who taught them, how often, what a person thinks of them; below 0.3 they rest."""

import django.contrib.postgres.fields
from django.db import migrations, models

ORIGIN_IS_IMMUTABLE = """
CREATE TRIGGER experience_origin_immutable BEFORE UPDATE OF origin ON longterm_experience
    FOR EACH ROW WHEN (OLD.origin IS DISTINCT FROM NEW.origin)
    EXECUTE FUNCTION longterm_memory_origin_is_immutable();
"""
DROP_ORIGIN_IS_IMMUTABLE = "DROP TRIGGER experience_origin_immutable ON longterm_experience;"

# Fits longterm.experiences: a lesson learned from a tool that did not help twice is no longer recalled.
MIN_CONFIDENCE = 0.3


def set_min_confidence(apps, schema_editor):
    """Unless an admin gave it one."""
    kind = apps.get_model("longterm", "Kind")
    kind.objects.filter(subject="experience", min_confidence=0).update(min_confidence=MIN_CONFIDENCE)


class Migration(migrations.Migration):
    dependencies = [("longterm", "0002_default_kinds")]

    operations = [
        migrations.AddField(
            model_name="experience",
            name="run_ids",
            field=django.contrib.postgres.fields.ArrayField(
                base_field=models.UUIDField(), blank=True, default=list, size=None
            ),
        ),
        migrations.AddField(
            model_name="experience",
            name="memory_ids",
            field=django.contrib.postgres.fields.ArrayField(
                base_field=models.UUIDField(), blank=True, default=list, size=None
            ),
        ),
        migrations.AddField(
            model_name="experience", name="model", field=models.CharField(blank=True, default="", max_length=100), preserve_default=False
        ),
        migrations.AddField(
            model_name="experience",
            name="confirmed_at",
            field=models.DateTimeField(blank=True, null=True),
        ),
        migrations.AddField(
            model_name="experience", name="seen_count", field=models.PositiveIntegerField(default=1)
        ),
        migrations.AddField(
            model_name="experience", name="given_count", field=models.PositiveIntegerField(default=0)
        ),
        migrations.AddConstraint(
            model_name="experience",
            constraint=models.CheckConstraint(
                condition=models.Q(
                    origin__in=["user_typed", "user_confirmed", "model_inferred", "tool", "imported", "untrusted"]
                ),
                name="experience_origin_known",
            ),
        ),
        migrations.AddIndex(
            model_name="experience",
            index=models.Index(
                condition=models.Q(("embedding", None)), fields=["id"], name="experience_not_embedded"
            ),
        ),
        migrations.RunSQL(ORIGIN_IS_IMMUTABLE, DROP_ORIGIN_IS_IMMUTABLE),
        # Data after schema in the same transaction: Postgres refuses the other order once triggers are pending.
        migrations.RunPython(set_min_confidence, migrations.RunPython.noop),
    ]
