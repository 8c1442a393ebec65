from django.apps import AppConfig


class ReceiptsConfig(AppConfig):
    name = "memoryapp.receipts"
    label = "receipts"
