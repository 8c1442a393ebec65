"""Every address of the application."""

from django.contrib import admin
from django.urls import include, path
from django.views.generic import RedirectView

from memoryapp import views
from memoryapp.api import api
from memoryapp.inspector.administration.metrics import metrics

urlpatterns = [
    path("healthz", views.healthz, name="healthz"),
    path("readyz", views.readyz, name="readyz"),
    path("metrics", metrics, name="metrics"),
    path("favicon.ico", views.favicon, name="favicon"),
    # allauth's page for many addresses per account, which nobody has here.
    path("accounts/email/", RedirectView.as_view(pattern_name="accounts:settings")),
    path("accounts/", include("allauth.account.urls")),
    path("", include("memoryapp.accounts.urls")),
    path("memory/", include("memoryapp.inspector.urls")),
    path("policies/", include("memoryapp.inspector.administration.policy_urls")),
    path("api/v1/", api.urls),
    path("admin/", admin.site.urls),
    path("", include("chat.urls")),
]

handler400 = views.bad_request
handler403 = views.permission_denied
handler404 = views.not_found
handler429 = views.too_many_requests  # allauth's
handler500 = views.server_error
