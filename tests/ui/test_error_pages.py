"""The pages that are shown when little else works."""

import pytest
from django.template.loader import render_to_string

PAGES = ["400", "403", "403_csrf", "404", "405", "429", "500", "503"]


@pytest.mark.parametrize("name", PAGES)
def test_error_page_needs_neither_a_request_nor_a_context(name):
    html = render_to_string(f"errors/{name}.html")

    assert f"Error {name[:3]}" in html
    assert '<a class="button" href="/">Go to your chats</a>' in html


def test_error_page_says_what_it_is_given():
    context = {"title": "Too fast", "message": "Wait <a> minute.", "action_url": "/x", "action_label": "Wait"}

    html = render_to_string("errors/429.html", context)

    assert "Too fast" in html
    assert "Wait &lt;a&gt; minute." in html
    assert '<a class="button button--primary" href="/x">Wait</a>' in html


def test_error_fragment_is_no_page():
    html = render_to_string("_error.html", {"message": "This message is too long."})

    assert "This message is too long." in html
    assert "<html" not in html
