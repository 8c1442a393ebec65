"""What the next prompt of a conversation will hold, as a bar with its texts."""

from uuid import UUID

from django.contrib.auth.decorators import login_required
from django.http import HttpResponse
from django.shortcuts import render
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_GET

from chat.tools import tools_of
from memoryapp.accounts.auth import PageRequest, caller
from memoryapp.context.preview import next_prompt
from memoryapp.inspector import context_bar
from memoryapp.transcript import queries


@login_required
@require_GET
@never_cache
def context(request: PageRequest, conversation_id: UUID) -> HttpResponse:
    """The bar; with ``?section=`` the texts of one section, which htmx asks for alone."""
    conversation = queries.get_conversation(caller(request).id, conversation_id)
    tools = tools_of(conversation)
    prompt = next_prompt(conversation, tools=tools)
    opened = context_bar.section_text(prompt, request.GET.get("section", ""))
    shown = {"conversation": conversation, "bar": context_bar.bar_of_next(prompt), "opened": opened}
    if not request.htmx:
        return render(request, "inspector/context.html", shown)
    part = "texts" if opened else "loaded"
    return render(request, f"inspector/_context_bar.html#{part}", shown)
