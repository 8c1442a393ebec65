from django.urls import path

from chat import views

app_name = "chat"

urlpatterns = [
    path("", views.home, name="home"),
    path("c/new", views.start, name="start"),
    path("c/<uuid:conversation_id>/", views.conversation, name="conversation"),
    path("c/<uuid:conversation_id>/send", views.send, name="send"),
    path("c/<uuid:conversation_id>/rename", views.rename, name="rename"),
    path("c/<uuid:conversation_id>/memory", views.switch_memory, name="memory"),
    path("c/<uuid:conversation_id>/delete", views.delete, name="delete"),
    path("t/<uuid:turn_id>/", views.turn, name="turn"),
    path("t/<uuid:turn_id>/stream", views.stream, name="stream"),
    path("t/<uuid:turn_id>/stop", views.stop, name="stop"),
    path("t/<uuid:turn_id>/retry", views.retry, name="retry"),
]
