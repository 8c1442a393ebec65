from django.apps import AppConfig


class PortabilityConfig(AppConfig):
    name = "memoryapp.portability"
    label = "portability"

    def ready(self) -> None:
        # Models are loaded by now, and not before; the import connects the receiver.
        from memoryapp.portability import forgetting  # noqa: F401, PLC0415
