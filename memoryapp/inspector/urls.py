from django.contrib.auth.decorators import login_required
from django.urls import path
from django.views.generic import RedirectView

from memoryapp.inspector import activity_views, overview_views, switch_views, undo_views
from memoryapp.inspector.conversations import conversation_views, message_views, summary_views
from memoryapp.inspector.facts import (
    adding_views,
    as_of_views,
    bulk_views,
    expiring_views,
    fact_list_views,
    fact_views,
    health_views,
    waiting_views,
)
from memoryapp.inspector.forgetting import forget_views, receipt_views
from memoryapp.inspector.own_data import data_views
from memoryapp.inspector.runs import experience_views, run_list_views, run_views

app_name = "inspector"

urlpatterns = [
    path("", overview_views.overview, name="overview"),
    path("pending/", waiting_views.pending, name="pending"),
    path("pending/forget", waiting_views.pending_forget, name="pending_forget"),
    path("expiring/", expiring_views.expiring, name="expiring"),
    path("expiring/picked", expiring_views.expiring_picked, name="expiring_picked"),
    path("health/", health_views.health, name="health"),
    path("health/duplicates/", health_views.duplicates, name="duplicates"),
    path("health/embed", health_views.health_embed, name="health_embed"),
    path("facts/", fact_list_views.facts, name="facts"),
    path("facts/bulk", bulk_views.facts_bulk, name="facts_bulk"),
    path("facts/add/", adding_views.fact_add, name="fact_add"),
    path("facts/as-of/", as_of_views.as_of, name="as_of"),
    path("try/", adding_views.try_it, name="try"),
    path("facts/<uuid:memory_id>/", fact_views.fact, name="fact"),
    path("facts/<uuid:memory_id>/edit", fact_views.fact_edit, name="fact_edit"),
    path("facts/<uuid:memory_id>/back", fact_views.fact_back, name="fact_back"),
    path("facts/<uuid:memory_id>/settle", fact_views.fact_settle, name="fact_settle"),
    path("facts/<uuid:memory_id>/unsettle", waiting_views.fact_unsettle, name="unsettle"),
    path("facts/<uuid:memory_id>/swap", overview_views.fact_swap, name="fact_swap"),
    path("facts/<uuid:memory_id>/bring-back", fact_views.fact_bring_back, name="fact_bring_back"),
    path("facts/<uuid:memory_id>/word", fact_views.fact_word, name="fact_word"),
    path("facts/<uuid:memory_id>/lifetime", fact_views.fact_lifetime, name="fact_lifetime"),
    path("facts/<uuid:memory_id>/forget", fact_views.fact_delete, name="fact_delete"),
    path("forgettings/<uuid:forgetting_id>/undo", undo_views.forgetting_undo, name="forgetting_undo"),
    path("forgettings/<uuid:forgetting_id>/finish", undo_views.forgetting_finish, name="forgetting_finish"),
    path("lifetimes/undo", undo_views.lifetimes_undo, name="lifetimes_undo"),
    path("kinds/", login_required(RedirectView.as_view(pattern_name="policies:kinds")), name="kinds"),
    path(
        "kinds/<slug:slug>/", login_required(RedirectView.as_view(pattern_name="policies:kind")), name="kind"
    ),
    path("experiences/", experience_views.listing, name="experiences"),
    path("experiences/<uuid:experience_id>/", experience_views.experience, name="experience"),
    path("experiences/<uuid:experience_id>/edit", experience_views.edit, name="experience_edit"),
    path("experiences/<uuid:experience_id>/feedback", experience_views.feedback, name="experience_feedback"),
    path("experiences/<uuid:experience_id>/extend", experience_views.extend, name="experience_extend"),
    path("experiences/<uuid:experience_id>/forget", experience_views.forget, name="experience_forget"),
    path("conversations/", conversation_views.listing, name="conversations"),
    path("conversations/delete", conversation_views.delete_many, name="conversations_delete"),
    path("conversations/undo", conversation_views.undo, name="conversations_undo"),
    path("conversations/<uuid:conversation_id>/", conversation_views.conversation, name="conversation"),
    path(
        "conversations/<uuid:conversation_id>/change", conversation_views.change, name="conversation_change"
    ),
    path(
        "conversations/<uuid:conversation_id>/delete", conversation_views.delete, name="conversation_delete"
    ),
    path("messages/<uuid:message_id>/", message_views.message, name="message"),
    path("messages/<uuid:message_id>/correct", message_views.correct, name="message_correct"),
    path("messages/<uuid:message_id>/redact", message_views.redact, name="message_redact"),
    path("turns/<uuid:turn_id>/delete", message_views.turn_delete, name="turn_delete"),
    path("conversations/<uuid:conversation_id>/summaries/edit", summary_views.edit, name="summary_edit"),
    path("conversations/<uuid:conversation_id>/summaries/make", summary_views.make, name="summary_make"),
    path(
        "conversations/<uuid:conversation_id>/summaries/progress",
        summary_views.progress,
        name="summary_progress",
    ),
    path(
        "conversations/<uuid:conversation_id>/summaries/<int:version>/", summary_views.summary, name="summary"
    ),
    path("conversations/<uuid:conversation_id>/pins", summary_views.pin, name="pin"),
    path("pins/<uuid:line_id>/remove", summary_views.unpin, name="unpin"),
    path("activity/", activity_views.activity, name="activity"),
    path("switches", switch_views.switch, name="switches"),
    path("kinds/<slug:slug>/refuse", switch_views.refuse_kind, name="refuse_kind"),
    path("runs/", run_list_views.runs, name="runs"),
    path("runs/picked", run_list_views.picked, name="runs_picked"),
    path("runs/<uuid:run_id>/", run_views.run, name="run"),
    path("runs/<uuid:run_id>/live", run_views.live, name="run_live"),
    path("runs/<uuid:run_id>/row", run_list_views.row, name="run_row"),
    path("runs/<uuid:run_id>/pad", run_views.edit_pad, name="run_edit_pad"),
    path("runs/<uuid:run_id>/keep", run_views.keep, name="run_keep"),
    path("runs/<uuid:run_id>/delete", run_views.delete, name="run_delete"),
    path("forget/", forget_views.forget, name="forget"),
    path("receipts/", receipt_views.receipts, name="receipts"),
    path("receipts/<uuid:receipt_id>/", receipt_views.receipt, name="receipt"),
    path("receipts/<uuid:receipt_id>/undo", receipt_views.undo, name="receipt_undo"),
    path("receipts/<uuid:receipt_id>/finish", receipt_views.finish, name="receipt_finish"),
    path("data/", data_views.data, name="data"),
    path("data/export", data_views.export, name="export"),
    path("data/import", data_views.bring, name="bring"),
    path("data/imports/<uuid:import_id>/", data_views.imported, name="import"),
    path("data/imports/<uuid:import_id>/apply", data_views.apply, name="import_apply"),
    path("data/imports/<uuid:import_id>/undo", data_views.undo, name="import_undo"),
]
