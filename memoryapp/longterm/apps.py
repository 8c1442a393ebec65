from django.apps import AppConfig


class LongtermConfig(AppConfig):
    name = "memoryapp.longterm"
    label = "longterm"
    verbose_name = "Long-term memory"
