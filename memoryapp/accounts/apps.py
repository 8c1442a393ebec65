from django.apps import AppConfig


class AccountsConfig(AppConfig):
    name = "memoryapp.accounts"
    label = "accounts"
    verbose_name = "Accounts"
