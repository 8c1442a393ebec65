"""``{{ text|unseen_named }}``: see ``with_unseen_named``."""

from django import template

from memoryapp.inspector.unseen import with_unseen_named

register = template.Library()
register.filter("unseen_named", with_unseen_named)
