from django.apps import AppConfig


class ToolingConfig(AppConfig):
    name = "memoryapp.tooling"
    label = "tooling"
    verbose_name = "Tools"
