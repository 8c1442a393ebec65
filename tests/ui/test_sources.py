"""Rules that every template, stylesheet and script keeps: the content policy, existing assets, safe forms."""

import re

import pytest
from django.contrib.staticfiles import finders
from django.template.loader import get_template

from tests.ui.sources import STATIC, modules, stylesheets, templates

FORBIDDEN_BY_POLICY = {
    "an inline style": re.compile(r"<style|\sstyle\s*="),
    "an inline script": re.compile(r"<script(?![^>]*\ssrc=)"),
    "an event handler": re.compile(r"\son[a-z]+\s*="),
    "a handler that htmx would evaluate": re.compile(r"hx-on[:-]|[\"']js:|javascript:"),
    "a trigger filter that htmx would evaluate": re.compile(r"hx-trigger=\"[^\"]*\["),
    "another origin": re.compile(r"(?:src|href|action)=\"(?:https?:)?//"),
}
# A file of its own, which no policy of ours reaches: it must stand without any other.
OUTSIDE_OF_IT = {"portability/index.html": {"an inline style"}}
NAMES = list(templates())


@pytest.mark.parametrize("name", NAMES)
def test_template_compiles(name):
    assert get_template(name)


@pytest.mark.parametrize("name", NAMES)
def test_template_keeps_to_the_content_policy(name):
    source = templates()[name]

    found = [
        what
        for what, pattern in FORBIDDEN_BY_POLICY.items()
        if pattern.search(source) and what not in OUTSIDE_OF_IT.get(name, ())
    ]

    assert found == []


@pytest.mark.parametrize("name", NAMES)
def test_every_posted_form_carries_the_csrf_token(name):
    forms = re.findall(r"<form\b.*?</form>", templates()[name], re.DOTALL)

    unsafe = [form for form in forms if 'method="post"' in form and "{% csrf_token %}" not in form]

    assert unsafe == []


@pytest.mark.parametrize("name", NAMES)
def test_assets_of_a_template_exist(name):
    assets = re.findall(r"{% static '([^']+)' %}", templates()[name])

    assert [asset for asset in assets if not finders.find(asset)] == []


@pytest.mark.parametrize("name", list(stylesheets()))
def test_assets_of_a_stylesheet_exist(name):
    urls = re.findall(r"url\(\"([^\"]+)\"\)", stylesheets()[name])

    assert [url for url in urls if not (STATIC / "css" / url).resolve().is_file()] == []


def test_sprite_holds_exactly_the_icons_in_use():
    used = set()
    for source in templates().values():
        used.update(re.findall(r"_icon.html\" with name=\"([a-z0-9-]+)\"", source))
        used.update(re.findall(r"_pad_list.html\" with [^%]*icon=\"([a-z0-9-]+)\"", source))

    drawn = set(re.findall(r"<symbol id=\"([a-z0-9-]+)\"", (STATIC / "icons" / "sprite.svg").read_text()))

    assert drawn == used


def test_scripts_build_no_html_and_evaluate_nothing():
    dangerous = re.compile(r"innerHTML|outerHTML|insertAdjacentHTML|document\.write|\beval\(|new Function")

    assert [name for name, source in modules().items() if dangerous.search(source)] == []


def test_linked_modules_are_never_imported():
    # Under hashed names the import and the link would be two instances, with every listener twice.
    linked = set(re.findall(r"static 'js/([a-z]+\.js)'", "".join(templates().values())))
    imported = set(re.findall(r"from \"\./([a-z]+\.js)\"", "".join(modules().values())))

    assert linked & imported == set()
    assert linked | imported == set(modules())


def test_stylesheets_put_every_rule_into_a_declared_layer():
    layers = re.search(r"@layer ([a-z, ]+);", stylesheets()["tokens.css"]).group(1).split(", ")

    for name, source in stylesheets().items():
        bare = re.sub(r"/\*.*?\*/", "", source, flags=re.DOTALL)
        top_level = re.findall(r"^[^\s}].*$", bare, re.MULTILINE)
        opened = [line for line in top_level if not line.endswith(";")]
        assert all(re.fullmatch(rf"@layer ({'|'.join(layers)}) {{", line) for line in opened), name
