"""Django settings shared by every environment; the values a person may turn are in ``memoryapp.conf``."""

from pathlib import Path
from urllib.parse import urlsplit

import dj_database_url
from csp.constants import NONE, SELF

from memoryapp.conf import get_conf

CONF = get_conf()
BASE_DIR = Path(__file__).resolve().parent.parent.parent

SECRET_KEY = CONF.secret_key.get_secret_value()
DEBUG = False
ALLOWED_HOSTS = CONF.allowed_hosts
BASE_URL = CONF.base_url
IS_HTTPS = urlsplit(BASE_URL).scheme == "https"

INSTALLED_APPS = [
    "memoryapp.accounts",
    "memoryapp.activity",
    "memoryapp.receipts",
    "memoryapp.tooling",
    "memoryapp.tuning",
    "memoryapp.scratchpad",
    "memoryapp.transcript",
    "memoryapp.longterm",
    "memoryapp.context",
    "memoryapp.lifecycle",
    "memoryapp.forgetting",
    "memoryapp.portability",
    "memoryapp.inspector",
    "memoryapp",
    "chat",
    "django.contrib.admin",
    "django.contrib.auth",
    "django.contrib.contenttypes",
    "django.contrib.sessions",
    "django.contrib.messages",
    "whitenoise.runserver_nostatic",
    "django.contrib.staticfiles",
    "django.contrib.humanize",
    "django_htmx",
    "template_partials",
    "csp",
    "allauth",
    "allauth.account",
    "ninja",
]

MIDDLEWARE = [
    "memoryapp.requests.RequestLogMiddleware",
    "django.middleware.security.SecurityMiddleware",
    "csp.middleware.CSPMiddleware",
    "whitenoise.middleware.WhiteNoiseMiddleware",
    "django.contrib.sessions.middleware.SessionMiddleware",
    "django.middleware.locale.LocaleMiddleware",
    "django.middleware.common.CommonMiddleware",
    "django.middleware.csrf.CsrfViewMiddleware",
    "django.contrib.auth.middleware.AuthenticationMiddleware",
    "django.contrib.messages.middleware.MessageMiddleware",
    "django.middleware.clickjacking.XFrameOptionsMiddleware",
    "allauth.account.middleware.AccountMiddleware",
    "django_htmx.middleware.HtmxMiddleware",
    "memoryapp.accounts.middleware.PersonMiddleware",
    "memoryapp.middleware.OpenedMemoryMiddleware",
    "memoryapp.middleware.ErrorPageMiddleware",
]

ROOT_URLCONF = "memoryapp.urls"
ASGI_APPLICATION = "memoryapp.asgi.application"

TEMPLATES = [
    {
        "BACKEND": "django.template.backends.django.DjangoTemplates",
        "DIRS": [BASE_DIR / "templates"],
        "APP_DIRS": True,
        "OPTIONS": {
            "context_processors": [
                "django.template.context_processors.request",
                "django.contrib.auth.context_processors.auth",
                "django.contrib.messages.context_processors.messages",
                "memoryapp.accounts.context_processors.appearance",
                "chat.context_processors.chats",
                "memoryapp.accounts.context_processors.sign_up",
            ],
        },
    },
]

DATABASE_URL = CONF.database_url  # empty: nothing was named, and no installation was joined
DATABASES = {
    "default": {
        **dj_database_url.parse(DATABASE_URL or "postgresql://postgres@127.0.0.1/app"),
        # Zero, so that closing a connection really gives it back: a streaming reply must hold none.
        "CONN_MAX_AGE": 0,
        "TIME_ZONE": None,
    }
}

REDIS_URL = CONF.redis_url or "redis://127.0.0.1:6379/0"
CACHES = {
    "default": {
        "BACKEND": "django.core.cache.backends.redis.RedisCache",
        "LOCATION": REDIS_URL,
        "KEY_PREFIX": "strata",
    }
}

AUTH_USER_MODEL = "accounts.User"
AUTHENTICATION_BACKENDS = ["allauth.account.auth_backends.AuthenticationBackend"]
PASSWORD_HASHERS = [
    "django.contrib.auth.hashers.Argon2PasswordHasher",
    "django.contrib.auth.hashers.PBKDF2PasswordHasher",
]
AUTH_PASSWORD_VALIDATORS = [
    {"NAME": f"django.contrib.auth.password_validation.{name}"}
    for name in (
        "UserAttributeSimilarityValidator",
        "MinimumLengthValidator",
        "CommonPasswordValidator",
        "NumericPasswordValidator",
    )
]
LOGIN_URL = "account_login"
LOGIN_REDIRECT_URL = "chat:home"
LOGOUT_REDIRECT_URL = "account_login"

ACCOUNT_ADAPTER = "memoryapp.accounts.adapters.AccountAdapter"
ACCOUNT_FORMS = {"login": "memoryapp.accounts.forms.SignInForm"}
ACCOUNT_LOGIN_METHODS = {"username", "email"}
ACCOUNT_SIGNUP_FIELDS = ["username*", "email", "password1*", "password2*"]
ACCOUNT_EMAIL_VERIFICATION = "none"  # an installation may have no mail server
# The same: asking for a reset must not fail there, and a link in the log would be worse than none. The page
# names the other way in, ``manage.py sign_in_link``.
EMAIL_BACKEND = "django.core.mail.backends.dummy.EmailBackend"
ACCOUNT_LOGOUT_ON_PASSWORD_CHANGE = False
ACCOUNT_SESSION_REMEMBER = True
ACCOUNT_RATE_LIMITS = {"login_failed": "10/m/ip,5/5m/key", "signup": "20/m/ip", "login": "30/m/ip"}
ALLAUTH_TRUSTED_PROXY_COUNT = 1 if CONF.is_behind_proxy else 0

# Plain http on localhost cannot carry Secure cookies; the __Host- names need them.
SESSION_COOKIE_AGE = CONF.session_age_days * 24 * 3600
SESSION_COOKIE_HTTPONLY = True
SESSION_COOKIE_SAMESITE = "Lax"
SESSION_COOKIE_SECURE = IS_HTTPS
SESSION_COOKIE_NAME = "__Host-session" if IS_HTTPS else "strata_session"
CSRF_COOKIE_HTTPONLY = True
CSRF_COOKIE_SAMESITE = "Lax"
CSRF_COOKIE_SECURE = IS_HTTPS
CSRF_COOKIE_NAME = "__Host-csrf" if IS_HTTPS else "strata_csrf"
CSRF_TRUSTED_ORIGINS = [BASE_URL.rstrip("/")] if BASE_URL else []
CSRF_FAILURE_VIEW = "memoryapp.views.csrf_failure"

SECURE_CONTENT_TYPE_NOSNIFF = True
SECURE_REFERRER_POLICY = "same-origin"
SECURE_CROSS_ORIGIN_OPENER_POLICY = "same-origin"
X_FRAME_OPTIONS = "DENY"
CONTENT_SECURITY_POLICY = {
    "DIRECTIVES": {
        "default-src": [NONE],
        "script-src": [SELF],
        "style-src": [SELF],
        "img-src": [SELF, "data:"],
        "font-src": [SELF],
        "connect-src": [SELF],
        "manifest-src": [SELF],
        "form-action": [SELF],
        "frame-ancestors": [NONE],
        "base-uri": [NONE],
    }
}
if CONF.is_behind_proxy:
    SECURE_PROXY_SSL_HEADER = ("HTTP_X_FORWARDED_PROTO", "https")

LANGUAGE_CODE = "en"
# Each named in its own words. A person without a choice gets their browser's, where it is one of these.
LANGUAGES = [("en", "English"), ("de", "Deutsch")]
LOCALE_PATHS = [BASE_DIR / "memoryapp" / "locale"]
TIME_ZONE = "UTC"
USE_I18N = True
USE_TZ = True

STATIC_URL = "static/"
STATICFILES_DIRS = [BASE_DIR / "static"]
STATIC_ROOT: Path | None = BASE_DIR / "staticfiles"

DEFAULT_AUTO_FIELD = "django.db.models.BigAutoField"
# One message of the largest allowed size, in the longest encoding, plus form fields.
DATA_UPLOAD_MAX_MEMORY_SIZE = CONF.message_max_chars * 12 + 65_536

NINJA_PAGINATION_MAX_LIMIT = 200

LOGGING = {
    "version": 1,
    "disable_existing_loggers": False,
    "formatters": {
        "plain": {"format": "{levelname} {name}: {message}", "style": "{"},
        "json": {
            "()": "pythonjsonlogger.json.JsonFormatter",
            "fmt": "{levelname}{name}{message}",
            "style": "{",
            "rename_fields": {"levelname": "level", "name": "logger"},
            "timestamp": "at",
        },
    },
    "handlers": {"console": {"class": "logging.StreamHandler", "formatter": CONF.log_format}},
    "root": {"handlers": ["console"], "level": CONF.log_level},
    "loggers": {
        # A line for each request: for collectors; on a terminal it would bury what matters.
        "memoryapp.requests": {"level": "INFO" if CONF.log_format == "json" else "WARNING"},
        "django.server": {"propagate": True},
        # A refused host or a 404 is not worth a line with a traceback.
        "django.security.DisallowedHost": {"level": "CRITICAL"},
        # One line per request, with an address that may hold a key.
        "httpx2": {"level": "WARNING"},
        # What fails reaches us as an exception; these lines quote what strangers sent, and name sessions.
        "mcp": {"level": "CRITICAL"},
        "client": {"level": "CRITICAL"},  # the name that the MCP client gives its own
    },
}
