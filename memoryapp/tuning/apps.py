from django.apps import AppConfig

from memoryapp.llm.configured import configure_by


class TuningConfig(AppConfig):
    name = "memoryapp.tuning"
    label = "tuning"

    def ready(self) -> None:
        from memoryapp.tuning import queries  # noqa: PLC0415  # its models exist only now

        configure_by(queries.conf)
