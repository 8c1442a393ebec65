from django.apps import AppConfig


class ActivityConfig(AppConfig):
    name = "memoryapp.activity"
    label = "activity"
