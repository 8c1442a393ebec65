from django.apps import AppConfig


class LifecycleConfig(AppConfig):
    name = "memoryapp.lifecycle"
    label = "lifecycle"
    verbose_name = "Lifecycle"

    def ready(self) -> None:
        # Models are loaded by now, and not before; the import connects the receivers.
        from memoryapp.lifecycle import forgetting, redacting  # noqa: F401, PLC0415
