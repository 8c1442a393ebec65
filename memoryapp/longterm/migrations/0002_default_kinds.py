"""The kinds every installation starts with. Admins change them; this only fills an empty table."""

from django.db import migrations

# slug, label, subject, shape, ttl_days, is_always_used, half_life_days, rationale
DEFAULTS = [
    ("identity", "Who you are", "statement", "keyed", None, True, None,
     "Names, family, language and time zone rarely change; forgetting them would be rude."),
    ("constraint", "Standing rules and limits", "statement", "free", None, True, None,
     "Allergies, diets and rules such as 'answer in French' must hold until you lift them."),
    ("contact_preference", "How to reach you", "statement", "keyed", 365, False, 180,
     "Contact habits change with jobs and devices; a year keeps them fresh."),
    ("preference", "Likes and dislikes", "statement", "free", 365, False, 180,
     "Tastes drift; one that has not come up for a year should be asked again."),
    ("decision", "Decisions", "statement", "free", 180, False, 90,
     "A decision guides work for a season; older ones are usually superseded."),
    ("event", "Events and plans", "statement", "free", 180, False, 60,
     "Plans and happenings matter around their date; half a year covers the follow-up."),
    ("ticket", "Order and ticket numbers", "statement", "free", 30, False, 14,
     "Cases close within weeks; an old number does more harm than good."),
    ("session", "Details of the moment", "statement", "free", 1, False, 1,
     "What only matters today is gone by the end of tomorrow."),
    ("experience", "What the assistant learned", "experience", "free", 180, False, 90,
     "Tools and data change; a lesson older than half a year should be learned again."),
    ("scratchpad", "Scratchpad records", "run", "free", 1, False, None,
     "A finished run is kept for a day so that you can look at it, then it is of no more use."),
]


def add_defaults(apps, schema_editor):
    kind = apps.get_model("longterm", "Kind")
    for position, (slug, label, subject, shape, ttl_days, is_always_used, half_life_days, rationale) in enumerate(DEFAULTS):
        kind.objects.get_or_create(
            slug=slug,
            defaults={
                "label": label, "subject": subject, "shape": shape, "ttl_days": ttl_days,
                "is_always_used": is_always_used, "half_life_days": half_life_days, "rationale": rationale,
                "position": 10 * (position + 1),
            },
        )


class Migration(migrations.Migration):
    dependencies = [("longterm", "0001_initial")]
    operations = [migrations.RunPython(add_defaults, migrations.RunPython.noop)]
