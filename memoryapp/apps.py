from django.apps import AppConfig


class StrataConfig(AppConfig):
    """The project itself as an app: its commands, and the Celery application for every thread of the process."""

    name = "memoryapp"
    label = "memoryapp"
    verbose_name = "Strata"

    def ready(self) -> None:
        # Not at module level: it reads the settings, which are complete only now.
        from memoryapp.celery import app  # noqa: PLC0415

        app.set_default()
