"""What ``manage.py up`` runs with: the real stack on one machine, plain http on localhost."""

import secrets

from memoryapp.settings.base import *

SECRET_KEY = SECRET_KEY or secrets.token_urlsafe(50)  # sessions then last as long as the process
ALLOWED_HOSTS = ALLOWED_HOSTS or ["localhost", "127.0.0.1", "[::1]"]
STORAGES = {
    "default": {"BACKEND": "django.core.files.storage.FileSystemStorage"},
    "staticfiles": {"BACKEND": "django.contrib.staticfiles.storage.StaticFilesStorage"},
}
STATIC_ROOT = None  # nothing is collected: files are served from where they lie
WHITENOISE_USE_FINDERS = True
WHITENOISE_AUTOREFRESH = False
