"""The addresses of the rules: what everybody's memories follow."""

from django.urls import path

from memoryapp.inspector.administration import kind_views, operations_views, people_views, tier_views

app_name = "policies"

urlpatterns = [
    path("", kind_views.listing, name="kinds"),
    path("add/", kind_views.add, name="kind_add"),
    path("history/", kind_views.history, name="kind_history"),
    path("kinds/<slug:slug>/", kind_views.kind, name="kind"),
    path("kinds/<slug:slug>/delete", kind_views.delete, name="kind_delete"),
    path("changes/<uuid:change_id>/undo", kind_views.undo, name="change_undo"),
    path("people/", people_views.people, name="people"),
    path("people/add/", people_views.add, name="person_add"),
    path("people/close", people_views.close, name="people_close"),
    path("people/<uuid:user_id>/", people_views.person, name="person"),
    path("people/<uuid:user_id>/link", people_views.invite, name="person_link"),
    path("people/<uuid:user_id>/open", people_views.open_memory, name="people_open"),
    path("operations/", operations_views.operations, name="operations"),
    path("operations/retry", operations_views.retry, name="operations_retry"),
    path("operations/purge", operations_views.purge, name="operations_purge"),
    path("tiers/", tier_views.tiers, name="tiers"),
    path("tiers/undo", tier_views.undo, name="tiers_undo"),
    path("tiers/history/", tier_views.history, name="tiers_history"),
]
