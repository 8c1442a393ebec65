"""``{{ at|moment }}``: a time that scripts make relative, for sentences that hold one; see ``templates/_time.html``."""

from datetime import datetime

from django import template
from django.template.loader import render_to_string
from django.utils.safestring import SafeString

register = template.Library()


@register.filter
def moment(at: datetime | None) -> SafeString:
    # The line that ends the file would stand before a comma that follows.
    return SafeString(render_to_string("_time.html", {"at": at}).strip())
