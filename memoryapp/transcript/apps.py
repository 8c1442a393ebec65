from django.apps import AppConfig


class TranscriptConfig(AppConfig):
    name = "memoryapp.transcript"
    label = "transcript"
    verbose_name = "Transcript"
