from django.apps import AppConfig


class LifecycleConfig(AppConfig):
    name = "memoryapp.lifecycle"
    label = "lifecycle"
    verbose_name = "Lifecycle"
