from django.apps import AppConfig


class InspectorConfig(AppConfig):
    name = "memoryapp.inspector"
    label = "inspector"
    verbose_name = "Memory inspector"
