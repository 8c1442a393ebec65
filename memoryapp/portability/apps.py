from django.apps import AppConfig


class PortabilityConfig(AppConfig):
    name = "memoryapp.portability"
    label = "portability"
