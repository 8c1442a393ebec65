"""The people of an installation, as admins have them: counted without content, added, let in once."""

import re
from concurrent.futures import ThreadPoolExecutor

import pytest
from django.db import OperationalError, connection, transaction
from django.test import Client
from django.test.utils import CaptureQueriesContext
from django.urls import reverse
from django.utils import timezone

from memoryapp.accounts import operations as accounts
from memoryapp.accounts.models import SignInLink, User
from memoryapp.activity.models import Entry, Verb
from memoryapp.errors import InvalidInputError
from tests.inspector.reading import words_of
from tests.personas import signed_in
from tests.world import CONTENT, everything_of

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("nudges")]
PEOPLE = "/policies/people/"
ADD = reverse("policies:person_add")


def link_for(person: User) -> str:
    return reverse("policies:person_link", args=[person.id])


def shown_link(response) -> str:
    """The path of the link on the page."""
    return re.search(r'id="sign-in-link"[^>]*>http://testserver(/sign-in/[^<]+)<', response.content.decode())[
        1
    ]


def test_people_are_counted_without_content(staff, alice, bob):
    everything_of(alice)

    response = staff.get(PEOPLE)
    found = {person.username: person for person in response.context["people"]}

    assert found["alice"].memories == 1
    assert found["alice"].conversations == 1
    assert found["alice"].runs == 1
    assert found["alice"].stored_bytes > 100
    assert (found["bob"].memories, found["bob"].stored_bytes) == (0, 0)
    assert CONTENT not in response.content.decode()
    assert CONTENT not in staff.get(reverse("policies:person", args=[alice.id])).content.decode()


def test_many_people_take_no_more_queries_than_few(staff, alice, django_user_model):
    def queries() -> int:
        with CaptureQueriesContext(connection) as captured:
            staff.get(PEOPLE)
        return len(captured)

    few = queries()
    for number in range(30):
        django_user_model.objects.create(username=f"person {number}")

    assert queries() == few


def test_people_are_searched_and_paged(staff, alice, bob, monkeypatch):
    monkeypatch.setattr("memoryapp.inspector.administration.people_views.PAGE", 2)

    first = staff.get(PEOPLE).context
    second = staff.get(PEOPLE + first["next_url"]).context

    names = [person.username for page in (first, second) for person in page["people"]]
    assert names == ["alice", "bob", "carol"]
    assert [p.username for p in staff.get(PEOPLE, {"q": "LIC"}).context["people"]] == ["alice"]
    assert "Nobody of that name" in words_of(staff.get(PEOPLE, {"q": "zoe"}))


@pytest.mark.parametrize("name", ["people", "person", "person_add", "person_link", "people_open"])
def test_only_admins_get_there(client, alice, bob, name):
    args = [] if name in {"people", "person_add"} else [alice.id]
    url = reverse(f"policies:{name}", args=args)
    ask = "post" if name in {"people_open", "person_link"} else "get"

    assert getattr(signed_in(bob), ask)(url, {"reason": "curious"}).status_code == 403
    assert getattr(client, ask)(url).status_code == 302
    assert not Entry.objects.filter(verb=Verb.OPENED).exists()


def test_a_person_is_added_by_name_and_comes_in_by_the_link_that_is_shown_once(staff):
    added = staff.post(ADD, {"username": "dave", "email": "Dave@strata.example"})

    link = shown_link(added)
    dave = User.objects.get(username="dave")
    assert added.status_code == 201
    assert "no-store" in added["Cache-Control"]
    assert (dave.email, dave.has_usable_password(), dave.is_staff) == ("Dave@strata.example", False, False)
    assert link not in staff.get(reverse("policies:person", args=[dave.id])).content.decode()
    theirs = Client()
    assert theirs.get(link).status_code == 302
    assert theirs.session["_auth_user_id"] == str(dave.id)


def test_of_who_has_been_here_the_page_says_how_to_help_them_in_again(staff, alice):
    User.objects.filter(id=alice.id).update(last_login=timezone.now())
    staff.post(ADD, {"username": "dave"})
    dave = User.objects.get(username="dave")

    of_alice, of_dave = (
        words_of(staff.get(reverse("policies:person", args=[who.id]))) for who in (alice, dave)
    )

    assert "manage.py sign_in_link alice" in of_alice
    assert "manage.py sign_in_link" not in of_dave


def test_a_link_has_the_public_address_where_one_is_set(staff, configure):
    configure(STRATA_BASE_URL="https://strata.example/")

    html = staff.post(ADD, {"username": "dave"}).content.decode()

    assert ">https://strata.example/sign-in/" in html


@pytest.mark.parametrize(
    ("written", "field"),
    [
        ({"username": ""}, "username"),
        ({"username": "alice"}, "username"),
        ({"username": "da ve"}, "username"),
        ({"username": "d" * 151}, "username"),
        ({"username": "dave", "email": "dave"}, "email"),
        ({"username": "dave", "email": "ALICE@strata.example"}, "email"),
    ],
)
def test_what_cannot_be_a_person_is_said_beside_its_field(staff, alice, written, field):
    User.objects.filter(id=alice.id).update(email="alice@strata.example")

    response = staff.post(ADD, written)

    assert response.status_code == 422
    assert response.context["form"].errors.keys() == {field}
    assert User.objects.count() == 2
    assert not SignInLink.objects.exists()


@pytest.mark.parametrize("name", ["аlice", "ａｌｉｃｅ", "ALICE", "Αlice", "al\u0456ce"])
def test_who_would_be_taken_for_somebody_else_is_not_added(staff, alice, name):
    response = staff.post(ADD, {"username": name})

    assert response.status_code == 422
    assert list(response.context["form"].errors) == ["username"]
    assert User.objects.count() == 2


def test_why_a_name_that_looks_like_another_is_refused_is_said(staff, alice):
    page = words_of(staff.post(ADD, {"username": "аlice"}))

    assert "This name looks like “alice”, who is here already. Choose another." in page


def test_adding_a_person_stands_in_the_log_of_the_admin_by_name_while_they_are_there(staff, carol, browser):
    staff.post(ADD, {"username": "dave"})
    dave = User.objects.get(username="dave")

    here = words_of(staff.get(reverse("inspector:activity")))
    page = staff.get(reverse("inspector:activity")).content.decode()
    others = words_of(browser.get(reverse("inspector:activity")))
    dave.delete()
    gone = words_of(staff.get(reverse("inspector:activity")))

    assert "You Added dave of this entry Account" in here
    assert reverse("policies:person", args=[dave.pk or Entry.objects.get().subject_id]) in page
    assert "Added dave" not in others
    assert "Added a person who is gone" in gone
    assert "dave" not in gone


def test_who_is_not_added_is_not_in_the_log(staff, alice):
    staff.post(ADD, {"username": "alice"})

    assert not Entry.objects.exists()


def test_of_two_admins_who_add_the_same_person_one_is_told(alice):
    with pytest.raises(InvalidInputError, match="There is an account of this name"):
        accounts.add_person(username="alice")


def test_who_has_not_been_here_gets_another_link_which_ends_the_one_before(staff):
    first = shown_link(staff.post(ADD, {"username": "dave"}))
    dave = User.objects.get(username="dave")

    second = shown_link(staff.post(link_for(dave)))

    assert "Make a sign-in link" in words_of(staff.get(reverse("policies:person", args=[dave.id])))
    assert Client().get(first).status_code == 404
    assert Client().get(second).status_code == 302


class TestAnInvitationEndsWith:
    """What an admin kept of a link opens nothing once its person has been here, or is an admin."""

    def opens(self, path: str) -> bool:
        client = Client()
        return client.get(path).status_code == 302 and "_auth_user_id" in client.session

    def test_the_rights_of_an_admin(self, staff):
        path = shown_link(staff.post(ADD, {"username": "dave"}))
        User.objects.filter(username="dave").update(is_superuser=True)

        assert not self.opens(path)

    def test_the_first_sign_in(self, staff):
        path = shown_link(staff.post(ADD, {"username": "dave"}))
        signed_in(User.objects.get(username="dave"))

        assert not self.opens(path)

    def test_a_password(self, staff):
        path = shown_link(staff.post(ADD, {"username": "dave"}))
        dave = User.objects.get(username="dave")
        dave.set_password("correct horse")
        dave.save()

        assert not self.opens(path)

    def test_but_not_a_link_that_was_made_on_the_server(self):
        assert self.opens(accounts.create_sign_in_link(accounts.ensure_first_account()))


@pytest.mark.django_db(transaction=True, serialized_rollback=True)
def test_an_invitation_waits_for_a_sign_in_that_is_about_to_happen():
    dave = accounts.add_person(username="dave")

    def invite() -> None:
        try:
            with connection.cursor() as cursor:
                cursor.execute("SET lock_timeout = '20ms'")
            accounts.invite(dave.id)
        finally:
            connection.close()

    with ThreadPoolExecutor(1) as pool, transaction.atomic():
        User.objects.filter(id=dave.id).update(last_login=timezone.now())
        with pytest.raises(OperationalError, match="lock timeout"):
            pool.submit(invite).result(timeout=10)

    assert not SignInLink.objects.exists()


class TestNobodyElsesWayIn:
    def refused(self, staff, person: User) -> bool:
        response = staff.post(link_for(person))
        page = staff.get(reverse("policies:person", args=[person.id]))
        assert "Make a sign-in link" not in words_of(page)
        return response.status_code == 409 and not SignInLink.objects.filter(used_at=None).exists()

    def test_who_has_a_password(self, staff, alice):
        assert self.refused(staff, alice)

    def test_who_has_been_here(self, staff):
        dave = accounts.add_person(username="dave")
        Client().get(accounts.create_sign_in_link(dave))

        assert self.refused(staff, dave)

    def test_whose_programs_have_been_here(self, staff):
        dave = accounts.add_person(username="dave")
        accounts.create_token(dave, name="laptop", now=timezone.now())

        assert self.refused(staff, dave)

    @pytest.mark.parametrize("right", ["is_staff", "is_superuser"])
    def test_an_admin(self, staff, right):
        dave = accounts.add_person(username="dave")
        User.objects.filter(id=dave.id).update(**{right: True})

        assert self.refused(staff, dave)

    def test_a_closed_account(self, staff):
        dave = accounts.add_person(username="dave")
        User.objects.filter(id=dave.id).update(is_active=False)

        assert self.refused(staff, dave)

    def test_nobody(self, staff):
        url = reverse("policies:person_link", args=["00000000-0000-7000-8000-000000000000"])

        assert staff.post(url).status_code == 404
