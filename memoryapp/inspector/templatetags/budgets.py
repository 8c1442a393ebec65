"""For the pages that say what is left of the day's budget."""

from typing import Any

from django import template
from django.utils import timezone

from memoryapp.lifecycle import daily_budget

register = template.Library()


@register.simple_tag(takes_context=True)
def daily_budget_left(context: dict[str, Any]) -> daily_budget.DailyBudget:
    """Of the person whose page it is: of an opened memory's on a page of the inspector, else of the reader."""
    user_id = context.get("subject_id") or context["request"].user.id
    return daily_budget.budget_of(user_id, now=timezone.now())
