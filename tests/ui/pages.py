"""Renders the chat's templates from view objects alone: no database, no views."""

from datetime import UTC, datetime
from types import SimpleNamespace
from uuid import UUID

from django.template.loader import render_to_string
from django.test import RequestFactory
from django.urls import resolve
from django.utils.safestring import mark_safe

from chat.memory_presentation import TOLD, Learned
from chat.presentation import TurnView
from chat.waiting_presentation import Question, Wait
from memoryapp.accounts.models import User

CONVERSATION = SimpleNamespace(id=UUID(int=1), title="Launch plan", use_memory=True, save_memory=True)
TURN_ID = UUID(int=2)
STREAM_URL = "/stand-in/stream"


def turn_view(**changes):
    view = {
        "can_retry": changes.get("status") in {"failed", "interrupted", "cancelled"},
        "id": TURN_ID,
        "seq": 1,
        "status": "completed",
        "is_live": False,
        "user_text": "When do we launch?",
        "created_at": datetime(2026, 10, 29, 9, 30, tzinfo=UTC),
        "reply_html": mark_safe("<p>On 14 March.</p>"),
        "error_message": "",
        "stream_url": "",
    }
    return TurnView(**(view | changes))


def live_turn_view(**changes):
    return turn_view(
        **({"status": "running", "is_live": True, "reply_html": "", "stream_url": STREAM_URL} | changes)
    )


def wait_view(reason, **changes):
    view = {
        "reason": reason,
        "message": "The model is overloaded.",
        "resume_at": datetime(2026, 10, 29, 9, 30, 12, tzinfo=UTC),
        "seconds": 12,
    }
    return Wait(**(view | changes))


def question(**changes):
    view = {
        "tool_use_id": "call-1",
        "tool_html": "send_note",
        "source": "an example",
        "touches_html": "The shared notebook.",
        "why_html": "I will send a note.",
        "arguments": (),
        "nonce": "nonce-1",
        "expires_at": datetime(2026, 10, 30, 9, 30, tzinfo=UTC),
        "status": "pending",
    }
    return Question(**(view | changes))


def card_html(wait=None):
    return render(
        "chat/_waiting.html", turn=live_turn_view(status="waiting" if wait else "running", wait=wait)
    )


def learned(**changes):
    view = {
        "outcome": "added",
        "told": TOLD[changes.get("outcome", "added")],
        "statement": "The launch is on 14 March",
        "source": "from your message",
        "expires_text": "expires 14 March 2027",
        "memory_url": "/memory/facts/1/",
        "action": "Edit",
    }
    return Learned(**(view | changes))


def request(path="/", **cookies):
    """As a signed-in person's, far enough for templates."""
    made = RequestFactory().get(path)
    made.resolver_match = resolve(path)
    made.user = User(username="alice")
    made.session = {}
    made.COOKIES.update(cookies)
    return made


def render(template, *, path="/", **context):
    # What the context processors would ask the database for.
    known = {"conversation_groups": [], "pending_count": 0}
    return render_to_string(template, known | context, request(path))


def turn_html(view):
    return render("chat/_turn.html", turn=view)


def composer_html(**context):
    known = {"conversation": CONVERSATION, "draft": "", "form_error": "", "idempotency_key": "key-2"}
    return render("chat/_composer.html", **(known | context))


def chat_page(*, turns=(), conversation=CONVERSATION, **context):
    known = {
        "conversation_groups": [],
        "conversation": conversation,
        "turns": list(turns),
        "draft": "",
        "form_error": "",
        "idempotency_key": "key-1",
        "model_notice": None,
        "starters": (),
        "temporary_hours": 24,
    }
    return render("chat/conversation.html", **(known | context))
