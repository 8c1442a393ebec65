#!/usr/bin/env python
"""Django's command-line entry point; ``manage.py up`` starts everything."""

import os
import sys

from django.core.management import execute_from_command_line

from memoryapp.embedded.installation import join_running

# These start servers of their own; every other command works with those that are up.
_STANDALONE = {"up", "bench"}

if __name__ == "__main__":
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "memoryapp.settings.dev")
    if not _STANDALONE & set(sys.argv[1:2]):
        join_running(sys.argv)
    execute_from_command_line(sys.argv)
