"""The pages of the kinds in a browser of an admin: what a form sends, a look at what it does, and doing it."""

from datetime import timedelta

from django.urls import reverse
from django.utils import timezone

from memoryapp.longterm.models import Kind, Memory
from tests.longterm.saying import remember

KINDS = reverse("policies:kinds")


def page_of(slug: str) -> str:
    return reverse("policies:kind", args=[slug])


def aged(user, statement: str, *, days: int) -> Memory:
    memory = remember(user, statement, kind="preference").memory
    Memory.objects.filter(id=memory.id).update(affirmed_at=timezone.now() - timedelta(days=days))
    return memory


def rule(slug: str = "preference", **values: object) -> dict[str, object]:
    """What the form of a kind sends, with these values."""
    kind = Kind.objects.get(slug=slug)
    sent = {
        "label": kind.label,
        "ttl_days": "" if kind.ttl_days is None else kind.ttl_days,
        "half_life_days": kind.half_life_days or "",
        "min_confidence": round(kind.min_confidence * 100),
        "rationale": kind.rationale,
        **{name: "on" for name in ("needs_confirmation", "is_always_used") if getattr(kind, name)},
        **values,
    }
    return {name: value for name, value in sent.items() if value is not None}


def seen(response) -> str:
    return response.context["seen"]


def shown(browser, slug: str = "preference", **values: object):
    """The page on which an admin sees what a rule would do."""
    page = browser.get(page_of(slug))
    return browser.post(page_of(slug), {**rule(slug, **values), "seen": seen(page), "preview": "yes"})


def applied(browser, slug: str = "preference", **values: object):
    """Seen, and then done."""
    look = shown(browser, slug, **values)
    return browser.post(
        page_of(slug),
        {**rule(slug, **values), "seen": seen(look), "apply": look.context.get("token", "")},
        follow=True,
    )
