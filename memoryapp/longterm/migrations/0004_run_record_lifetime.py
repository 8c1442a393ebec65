"""Records of runs may go at once: a lifetime of 0, for them alone."""

import django.core.validators
from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("longterm", "0003_experiences")]

    operations = [
        migrations.AlterField(
            model_name="kind",
            name="ttl_days",
            field=models.PositiveIntegerField(
                blank=True,
                help_text="Empty: for ever. A change applies at once, to old memories too: what is older than a shortened lifetime is hidden immediately, and the sweep, which runs every minute, deletes it for good. Scratchpad records may have 0: the pad, the steps and the checkpoints of a run are deleted when it ends.",
                null=True,
                validators=[
                    django.core.validators.MinValueValidator(0),
                    django.core.validators.MaxValueValidator(36500),
                ],
                verbose_name="lifetime in days",
            ),
        ),
        migrations.RemoveConstraint(model_name="kind", name="kind_ttl_range"),
        migrations.AddConstraint(
            model_name="kind",
            constraint=models.CheckConstraint(
                condition=models.Q(
                    ("ttl_days", None),
                    ("ttl_days__range", (1, 36500)),
                    models.Q(("subject", "run"), ("ttl_days", 0)),
                    _connector="OR",
                ),
                name="kind_ttl_range",
                violation_error_message="A lifetime is 1 to 36,500 days, or empty for ever.",
            ),
        ),
    ]
