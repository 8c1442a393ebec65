"""Django's admin: for staff, behind our own sign-in, and without anything that people said."""

import pytest
from django.apps import apps
from django.contrib import admin
from django.contrib.admin.models import LogEntry
from django.test import Client
from django.urls import reverse

from memoryapp.accounts.models import User
from memoryapp.longterm.models import Memory
from tests.world import CONTENT, everything_of

OURS = [model for model in apps.get_models() if model.__module__.startswith(("memoryapp.", "chat."))]


def page(model, name, *args):
    return reverse(f"admin:{model._meta.app_label}_{model._meta.model_name}_{name}", args=args)


@pytest.fixture
def staff(carol):
    carol.is_superuser = True
    carol.save()
    browser = Client()
    browser.force_login(carol)
    return browser


def test_every_model_is_in_the_admin():
    missing = [model for model in OURS if not admin.site.is_registered(model)]

    assert missing == []


def test_the_list_of_every_model_shows_rows_without_content(staff, alice, subtests):
    everything_of(alice)

    for model in OURS:
        with subtests.test(model._meta.label):
            response = staff.get(page(model, "changelist"))

            assert response.status_code == 200
            assert response.context["cl"].result_count > 0
            assert CONTENT not in response.content.decode()


def test_the_page_of_a_row_shows_no_content(staff, alice, subtests):
    everything_of(alice)

    for model in OURS:
        with subtests.test(model._meta.label):
            response = staff.get(page(model, "change", model._default_manager.first().pk))

            assert response.status_code == 200
            assert CONTENT not in response.content.decode()


@pytest.mark.parametrize("name", ["history", "delete"])
def test_the_history_and_the_deletion_of_a_row_name_no_content(staff, alice, name, subtests):
    everything_of(alice)

    for model in OURS:
        with subtests.test(model._meta.label):
            response = staff.get(page(model, name, model._default_manager.first().pk))

            assert response.status_code in {200, 403}
            assert CONTENT not in response.content.decode()


def test_a_change_is_logged_without_content(staff, alice):
    memory = Memory.objects.get(id=everything_of(alice).memory_id)

    staff.post(page(Memory, "change", memory.pk), {"confidence": "0.5", "is_kept": "on"})

    memory.refresh_from_db()
    entry = LogEntry.objects.get()
    assert memory.confidence == 0.5
    assert CONTENT not in entry.object_repr + entry.change_message


def test_no_row_shows_content_as_its_name(alice, subtests):
    everything_of(alice)

    for model in OURS:
        with subtests.test(model._meta.label):
            assert all(CONTENT not in str(row) for row in model._default_manager.all())


@pytest.mark.parametrize("label", ["accounts.ApiToken", "accounts.SignInLink"])
def test_secrets_are_not_issued_by_a_form(staff, label):
    model = apps.get_model(label)

    assert staff.get(page(model, "add")).status_code == 403
    assert staff.post(page(model, "add"), {}).status_code == 403


def test_the_admin_has_no_sign_in_of_its_own(client, alice):
    form = {"username": "alice", "password": "alice-password", "next": "/admin/"}

    opened = client.get("/admin/login/?next=/admin/")
    tried = client.post("/admin/login/", form)

    assert opened["Location"] == "/accounts/login/?next=%2Fadmin%2F"
    assert tried["Location"].startswith("/accounts/login/")
    assert "_auth_user_id" not in client.session


def test_who_is_not_staff_is_refused_and_not_asked_to_sign_in_again(client, alice):
    client.force_login(alice)

    response = client.get("/admin/", follow=True)

    assert response.status_code == 403
    assert "This is not yours to see" in response.content.decode()


def test_staff_come_in(staff):
    assert staff.get("/admin/").status_code == 200


def test_a_memory_alone_is_not_deleted_by_the_admin_but_its_person_is(client, alice):
    root = User.objects.create_superuser("root", password="root-password")
    world = everything_of(alice)
    client.force_login(root)

    alone = client.post(f"/admin/longterm/memory/{world.memory_id}/delete/", {"post": "yes"})
    with_person = client.post(f"/admin/accounts/user/{alice.id}/delete/", {"post": "yes"})

    assert alone.status_code == 403
    assert with_person.status_code == 302
    assert not User.objects.filter(id=alice.id).exists()
