# Everything a person or CI does with this project. `make` alone lists it.
SHELL := /bin/bash
.SHELLFLAGS := -eu -o pipefail -c
.DEFAULT_GOAL := help
MAKEFLAGS += --no-print-directory

PYTHON ?= python3
ARGS =

VENV := .venv
BIN := $(VENV)/bin
# Debian's python3 comes without pip and ensurepip, and apt needs root; a wheel runs as it is.
PIP_WHEEL := $(wildcard .bootstrap/pip-*.whl)
# Nothing but what the lock names by hash, and nothing is compiled.
PIP_INSTALL := $(BIN)/python $(PIP_WHEEL)/pip install --quiet --quiet --disable-pip-version-check --no-input \
	--require-hashes --only-binary :all:
LOCK := $(BIN)/uv pip compile --quiet --universal --python-version 3.11 --generate-hashes \
	--custom-compile-command 'make lock'

# Each has servers of its own. Most tests wait for something more than they compute.
TEST_PROCESSES ?= 2

# Of these the suite takes a sample.
FAULTS := tests/chat/test_killed_anywhere.py tests/chat/test_killed_processes.py tests/transcript/test_compaction_races.py

OUR_CODE := memoryapp chat tests manage.py

.PHONY: help install install-dev up test faults check lint fmt demo-data screenshots messages lock browser

help: ## list these targets
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "  make %-12s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

install: $(VENV)/.runtime ## what running needs, into .venv

up: install ## start everything and print a sign-in link; ARGS="--port 9000"
	@exec $(BIN)/python manage.py up $(ARGS)

test: install-dev browser ## the test suite; ARGS="tests/embedded -k restart"
	@$(BIN)/python -m pytest --numprocesses $(TEST_PROCESSES) --dist loadfile --durations 40 --durations-min 10 $(ARGS)

faults: install-dev ## the suite's kills and races in full: workers killed at every point
	@$(BIN)/python -m pytest --numprocesses $(TEST_PROCESSES) --all-faults $(FAULTS) $(ARGS)

check: lint test ## all that CI checks

lint: install-dev ## style, types, layers, templates, migrations
	$(BIN)/ruff check $(OUR_CODE)
	$(BIN)/ruff format --check $(OUR_CODE)
	$(BIN)/mypy
	$(BIN)/lint-imports
	$(BIN)/djlint --quiet --check templates
	$(BIN)/djlint --quiet --lint templates
	@# It would like a database to compare with, and warns without one.
	$(BIN)/python -W ignore::RuntimeWarning manage.py makemigrations --check --dry-run
	$(BIN)/python manage.py check

fmt: install-dev ## format the code and the templates
	$(BIN)/ruff check --fix-only $(OUR_CODE)
	$(BIN)/ruff format $(OUR_CODE)
	$(BIN)/djlint --quiet --reformat templates

demo-data: install ## fill the running installation with an example to look at
	@$(BIN)/python manage.py demo_data $(ARGS)

screenshots: install-dev browser ## take the pictures of the documentation anew
	@$(BIN)/python -m tests.screenshots $(ARGS)

messages: install-dev ## gather the texts of the pages for translation, and compile the translations
	@$(BIN)/python -m tests.catalogue

lock: install ## make requirements*.txt from requirements*.in
	$(BIN)/python $(PIP_WHEEL)/pip install --quiet --disable-pip-version-check uv==0.13.9
	$(LOCK) requirements.in --output-file requirements.txt
	$(LOCK) requirements-dev.in --constraint requirements.txt --output-file requirements-dev.txt

install-dev: $(VENV)/.dev ## what developing needs, too

# Chromium drives the browser tests; without it they are skipped, and say so.
browser: ## install Chromium, where root and apt can
	@if ! command -v chromium >/dev/null; then \
	  if [ "$$(id -u)" = 0 ] && command -v apt-get >/dev/null; then \
	    echo 'Installing Chromium for the browser tests …'; \
	    { apt-get update -qq && apt-get install -qq --yes --no-install-recommends chromium; } </dev/null >/dev/null \
	      || echo 'Chromium could not be installed: the browser tests will be skipped.' >&2; \
	  else \
	    echo 'The browser tests will be skipped: install Chromium (on Debian: apt-get install chromium).' >&2; \
	  fi; \
	fi

$(BIN)/python:
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11) and "Python 3.11 or newer is needed; choose one: make PYTHON=python3.12")'
	@$(PYTHON) -m venv --without-pip $(VENV)

# Stamps: done once, and again only when the lock has changed.
$(VENV)/.runtime: requirements.txt | $(BIN)/python
	@echo 'Installing the packages (once) …'
	@$(PIP_INSTALL) --requirement requirements.txt
	@touch $@

$(VENV)/.dev: requirements-dev.txt $(VENV)/.runtime
	@echo 'Installing the development packages (once) …'
	@$(PIP_INSTALL) --requirement requirements-dev.txt
	@touch $@
