from django.urls import path

from chat import branch_views, context_views, list_views, memory_views, tool_views, views, waiting_views

app_name = "chat"

urlpatterns = [
    path("", views.home, name="home"),
    path("c/new", views.start, name="start"),
    path("c/<uuid:conversation_id>/", views.conversation, name="conversation"),
    path("c/<uuid:conversation_id>/send", views.send, name="send"),
    path("c/<uuid:conversation_id>/context", context_views.context, name="context"),
    path("c/<uuid:conversation_id>/servers", tool_views.tool_servers, name="tool_servers"),
    path("c/<uuid:conversation_id>/servers/<uuid:server_id>", tool_views.switch_server, name="switch_server"),
    path("c/<uuid:conversation_id>/rename", views.rename, name="rename"),
    path("c/<uuid:conversation_id>/memory", views.switch_memory, name="memory"),
    path("c/<uuid:conversation_id>/ask-again", waiting_views.ask_again, name="ask_again"),
    path("c/<uuid:conversation_id>/delete", views.delete, name="delete"),
    path("c/<uuid:conversation_id>/restore", views.restore, name="restore"),
    path("c/<uuid:conversation_id>/pin", list_views.pin, name="pin"),
    path("c/<uuid:conversation_id>/archive", list_views.archive, name="archive"),
    path("conversations/", list_views.all_chats, name="list"),
    path("conversations/archive", list_views.archive_many, name="archive_many"),
    path("conversations/unarchive", list_views.unarchive_many, name="unarchive_many"),
    path("conversations/delete", list_views.delete_many, name="delete_many"),
    path("conversations/restore", list_views.restore_many, name="restore_many"),
    path("t/<uuid:turn_id>/", views.turn, name="turn"),
    path("t/<uuid:turn_id>/stream", views.stream, name="stream"),
    path("t/<uuid:turn_id>/stop", views.stop, name="stop"),
    path("t/<uuid:turn_id>/retry", views.retry, name="retry"),
    path("t/<uuid:turn_id>/waiting", waiting_views.waiting, name="waiting"),
    path("t/<uuid:turn_id>/decide", waiting_views.decide, name="decide"),
    path("t/<uuid:turn_id>/resume", waiting_views.resume, name="resume"),
    path("t/<uuid:turn_id>/edit", branch_views.edit, name="edit"),
    path("t/<uuid:turn_id>/again", branch_views.again, name="again"),
    path("t/<uuid:turn_id>/show", branch_views.show, name="show"),
    path("t/<uuid:turn_id>/remove", branch_views.remove, name="remove"),
    path("t/<uuid:turn_id>/fork", branch_views.fork, name="fork"),
    path("t/<uuid:turn_id>/keep", branch_views.keep, name="keep"),
    path("t/<uuid:turn_id>/learned", memory_views.learned, name="learned"),
    path("t/<uuid:turn_id>/used", memory_views.used, name="used"),
    path("t/<uuid:turn_id>/memories/<uuid:memory_id>/take-back", memory_views.take_back, name="take_back"),
    path("t/<uuid:turn_id>/memories/<uuid:memory_id>/judge", memory_views.judge, name="judge"),
    path("t/<uuid:turn_id>/memories/<uuid:memory_id>/forget", memory_views.forget, name="forget"),
    path(
        "t/<uuid:turn_id>/forgettings/<uuid:forgetting_id>/undo", memory_views.undo_forget, name="undo_forget"
    ),
    path("t/<uuid:turn_id>/without/<uuid:item_id>", memory_views.answer_without, name="without"),
    path("kept/<uuid:line_id>/remove", branch_views.let_go, name="let_go"),
]
