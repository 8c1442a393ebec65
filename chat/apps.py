from django.apps import AppConfig


class ChatConfig(AppConfig):
    name = "chat"
    verbose_name = "Chat"

    def ready(self) -> None:
        # Models are loaded by now, and not before; the import connects the receiver.
        from chat import redacting  # noqa: F401, PLC0415
