"""Which servers' tools a chat uses: a dialog in the chat, or a page of its own."""

from typing import Any
from uuid import UUID

from django.contrib.auth.decorators import login_required
from django.http import HttpResponse
from django.shortcuts import render
from django.template.loader import render_to_string
from django.urls import reverse
from django.utils.translation import gettext
from django.views.decorators.http import require_GET, require_POST

from chat.pages import announcement, see
from memoryapp.accounts.auth import PageRequest, caller
from memoryapp.scratchpad import queries as scratchpad
from memoryapp.tooling import operations as tooling
from memoryapp.tooling import queries as tool_queries
from memoryapp.transcript import queries


@login_required
@require_GET
def tool_servers(request: PageRequest, conversation_id: UUID) -> HttpResponse:
    name = "chat/tool_servers.html#dialog" if request.htmx else "chat/tool_servers.html"
    return render(request, name, _context(request, conversation_id))


@login_required
@require_POST
def switch_server(request: PageRequest, conversation_id: UUID, server_id: UUID) -> HttpResponse:
    is_on = "is_on" in request.POST
    tooling.use_server(caller(request).id, conversation_id, server_id, is_on=is_on)
    if not request.htmx:
        return see(reverse("chat:tool_servers", args=[conversation_id]))
    shown = render_to_string("chat/tool_servers.html#servers", _context(request, conversation_id), request)
    said = gettext("Switched on for this chat") if is_on else gettext("Switched off")
    return HttpResponse(shown + announcement(said))


def _context(request: PageRequest, conversation_id: UUID) -> dict[str, Any]:
    shown = queries.get_conversation(caller(request).id, conversation_id)
    return {
        "conversation": shown,
        "allowed": scratchpad.grants(shown.user_id, shown.id),
        "servers": tool_queries.offered_in(shown.user_id, shown.id),
        "back_url": reverse("chat:conversation", args=[conversation_id]),
    }
