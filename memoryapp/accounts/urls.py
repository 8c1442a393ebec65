from django.urls import path

from memoryapp.accounts import views

app_name = "accounts"

urlpatterns = [
    path("sign-in/<str:token>", views.sign_in, name="sign_in"),
    path("settings/", views.settings_page, name="settings"),
    path("settings/preferences", views.save_preferences, name="preferences"),
    path("settings/appearance", views.save_appearance, name="appearance"),
    path("settings/tokens", views.create_token, name="token_create"),
    path("settings/tokens/<uuid:token_id>/revoke", views.revoke_token, name="token_revoke"),
]
