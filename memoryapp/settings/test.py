"""The test suite: real Postgres and Redis, started by ``tests/servers.py`` before Django is configured."""

from memoryapp.settings.dev import *

SECRET_KEY = "tests-only-" + "x" * 50
PASSWORD_HASHERS = ["django.contrib.auth.hashers.MD5PasswordHasher"]  # speed; nothing is protected by it here
ALLOWED_HOSTS = ["*"]
WHITENOISE_AUTOREFRESH = True  # each test's client makes the middleware anew: no walk over all files for it
