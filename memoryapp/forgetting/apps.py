from django.apps import AppConfig


class ForgettingConfig(AppConfig):
    name = "memoryapp.forgetting"
    label = "forgetting"

    def ready(self) -> None:
        # Not at module level: registered once, when the settings are complete.
        from memoryapp.forgetting import checks  # noqa: F401, PLC0415
