from django.urls import path

from memoryapp.inspector import experience_views, kind_views, run_views, summary_views, views

app_name = "inspector"

urlpatterns = [
    path("", views.overview, name="overview"),
    path("facts/", views.facts, name="facts"),
    path("facts/<uuid:memory_id>/", views.fact, name="fact"),
    path("facts/<uuid:memory_id>/edit", views.fact_edit, name="fact_edit"),
    path("facts/<uuid:memory_id>/settle", views.fact_settle, name="fact_settle"),
    path("facts/<uuid:memory_id>/bring-back", views.fact_bring_back, name="fact_bring_back"),
    path("facts/<uuid:memory_id>/forget", views.fact_delete, name="fact_delete"),
    path("kinds/", kind_views.listing, name="kinds"),
    path("kinds/<slug:slug>/", kind_views.kind, name="kind"),
    path("experiences/", experience_views.listing, name="experiences"),
    path("experiences/<uuid:experience_id>/", experience_views.experience, name="experience"),
    path("experiences/<uuid:experience_id>/feedback", experience_views.feedback, name="experience_feedback"),
    path("experiences/<uuid:experience_id>/forget", experience_views.forget, name="experience_forget"),
    path("conversations/", views.conversations, name="conversations"),
    path("conversations/<uuid:conversation_id>/", views.conversation, name="conversation"),
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
    path("runs/", run_views.runs, name="runs"),
    path("runs/<uuid:run_id>/", run_views.run, name="run"),
    path("runs/<uuid:run_id>/live", run_views.live, name="run_live"),
    path("runs/<uuid:run_id>/delete", run_views.delete, name="run_delete"),
]
