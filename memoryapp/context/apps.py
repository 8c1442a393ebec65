from django.apps import AppConfig


class ContextConfig(AppConfig):
    name = "memoryapp.context"
    label = "context"
    verbose_name = "Context"
