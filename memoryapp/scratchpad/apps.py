from django.apps import AppConfig


class ScratchpadConfig(AppConfig):
    name = "memoryapp.scratchpad"
    label = "scratchpad"
    verbose_name = "Scratchpad"
