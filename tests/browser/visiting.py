"""Every page of a running installation that can be reached from its navigation, one for each route."""

import json
import re
from collections import Counter, deque
from urllib.parse import urlsplit

from django.urls import Resolver404, resolve
from playwright.sync_api import APIRequestContext, Page, expect

# The last two are linked only where something has been found, or changed.
ENTRANCES = (
    "/",
    "/memory/",
    "/policies/",
    "/conversations/",
    "/settings/",
    "/memory/health/duplicates/",
    "/policies/tiers/history/",
)
SAMPLES = 3  # addresses of a route that are read for links: the first conversation may have no summary
# What is no page of ours: Django's admin, programs' routes, files, ways out, and streams.
ELSEWHERE = re.compile(
    r"^/(admin|api|static|accounts/logout|sign-in|healthz|readyz)\b|/(stream|events|progress|live)$"
)
LINK = re.compile(r'href="([^"#]+)')


def pages(request: APIRequestContext) -> dict[str, str]:
    """Name of the route → the first address of it that answers with a page."""
    found: dict[str, str] = {}
    read: Counter[str] = Counter()
    waiting, seen = deque(ENTRANCES), set(ENTRANCES)
    while waiting:
        address = waiting.popleft()
        route = _route(address)
        if route is None or read[route] == SAMPLES:
            continue
        read[route] += 1
        response = request.get(address)
        if not response.ok or "text/html" not in response.headers.get("content-type", ""):
            continue
        found.setdefault(route, address)
        for link in LINK.findall(response.text()):
            path = _path(link.replace("&amp;", "&"), base=address)
            if path and path not in seen:
                seen.add(path)
                waiting.append(path)
    return found


def forgotten(page: Page) -> str:
    """The address of a receipt."""
    page.goto("/memory/facts/")
    page.locator("a.fact").first.click()
    page.get_by_role("link", name="See where it is still said").click()
    page.get_by_role("button", name="Forget · can be undone").click()
    page.wait_for_url("**/memory/receipts/*/")
    return page.url


def looked_at(page: Page) -> str:
    """The address of an import that waits for its person."""
    rows = [{"id": page.url, "memory": "Likes quinces", "created_at": "2026-11-01T10:00:00Z"}]
    file = {"name": "mem0.json", "mimeType": "application/json", "buffer": json.dumps(rows).encode()}
    page.goto("/memory/data/")
    page.get_by_label("File").set_input_files([file])
    page.get_by_role("button", name="Read the file").click()
    expect(page.get_by_role("button", name="Throw the file away")).to_be_visible()
    return page.url


def _path(link: str, *, base: str) -> str:
    """Empty for what leads elsewhere. A query counts where it stands alone: a list's filters are one page."""
    parts = urlsplit(link)
    if parts.scheme or parts.netloc or ELSEWHERE.search(parts.path):
        return ""
    return parts.path or urlsplit(base).path


def _route(address: str) -> str | None:
    try:
        return resolve(urlsplit(address).path).view_name
    except Resolver404:
        return None
