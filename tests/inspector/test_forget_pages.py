"""The pages of forgetting: what can be chosen, what would go, and that just that goes."""

from datetime import timedelta

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext
from django.urls import reverse
from django.utils import timezone

from memoryapp.accounts.models import User
from memoryapp.forgetting.operations import forget
from memoryapp.forgetting.preview import BY_WORD
from memoryapp.forgetting.scopes import Asked
from memoryapp.longterm.models import Memory
from memoryapp.receipts.models import Receipt, Scope
from memoryapp.scratchpad.queries import MANY_TEXTS
from memoryapp.transcript import conversations
from memoryapp.transcript.models import Conversation
from tests.forgetting.test_scopes import SAID, learn, talk
from tests.inspector.reading import words_of
from tests.inspector.test_break_glass import open_memory
from tests.longterm.saying import live, remember
from tests.personas import signed_in
from tests.world import everything_of

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("nudges")]
PAGE_BYTES = 100_000


def url(name: str = "forget", *args: object) -> str:
    return reverse(f"inspector:{name}", args=args)


def preview_of(browser, scope: str, subject: object = "", **more):
    return browser.get(url(), {"scope": scope, "id": str(subject), **more})


def post(browser, shown, **more):
    """The form of a page as it was shown."""
    asked = shown.context["asked"]
    values = {"scope": asked.scope, "id": asked.subject, "shown": shown.context["shown"], **more}
    return browser.post(url(), values)


def receipt_of(answer) -> Receipt:
    return Receipt.objects.get(id=answer["Location"].rstrip("/").rpartition("/")[2])


class TestChoosing:
    def test_what_there_is_to_forget_is_offered_with_how_much_it_is(self, browser, alice):
        remember(alice, "I like figs", kind="preference")
        remember(alice, "I met Ada", channel=Memory.Channel.CHAT)

        shown = words_of(browser.get(url()))

        assert "All of the last hour" in shown
        assert "Likes and dislikes (1)" in shown
        assert "the chat (1)" in shown
        assert "Delete your account…" in shown

    def test_what_a_program_wrote_is_offered_by_its_name(self, browser, alice):
        Memory.objects.filter(id=remember(alice, "I like figs").memory.id).update(program="laptop")

        shown = browser.get(url())

        assert "the program “laptop” (1)" in words_of(shown)
        assert 'value="program:laptop"' in shown.content.decode()

    def test_an_empty_memory_says_so(self, browser):
        assert "No fact is remembered yet." in words_of(browser.get(url()))

    def test_a_scope_that_is_none_is_refused(self, browser):
        assert preview_of(browser, "galaxy").status_code == 422
        assert preview_of(browser, "turns").status_code == 422
        assert browser.post(url()).status_code == 422

    def test_a_page_links_to_it(self, browser, alice):
        ids = everything_of(alice)
        places = {
            url("overview"): "forget/",
            reverse("accounts:settings"): "scope=account",
            url("fact", ids.memory_id): f"scope=memory_and_source&amp;id={ids.memory_id}",
            url("conversation", ids.conversation_id): f"scope=conversation&amp;id={ids.conversation_id}",
            url("run", ids.run_id): f"scope=run&amp;id={ids.run_id}",
        }

        assert [at for at, link in places.items() if link not in browser.get(at).content.decode()] == []


class TestPreview:
    def test_nothing_is_forgotten_by_looking(self, browser, alice):
        remember(alice, "I like figs", kind="preference")

        shown = preview_of(browser, "kind", "preference")

        assert "Forget: All of the kind “Likes and dislikes”?" in words_of(shown)
        assert "1 fact" in words_of(shown)
        assert "I like figs" in words_of(shown)
        assert live(alice) == ["I like figs"]

    def test_the_button_says_for_how_long_it_can_be_undone(self, browser, alice):
        remember(alice, "I like figs", kind="preference")

        shown = words_of(preview_of(browser, "kind", "preference"))

        assert "Forget · can be undone for 10 minutes" in shown
        assert "Forget now, for good" in shown

    def test_what_cannot_be_undone_says_so_instead(self, browser, alice):
        (turn,) = talk(alice, SAID)
        memory = learn(turn)

        shown = words_of(preview_of(browser, "memory_and_source", memory.id))

        assert "This cannot be undone." in shown
        assert "can be undone for" not in shown

    def test_where_a_fact_is_still_said_is_linked_with_the_ways_out(self, browser, alice):
        (turn,) = talk(alice, SAID)
        memory = learn(turn)
        message = turn.messages.get(role="user")

        shown = preview_of(browser, "memory", memory.id)

        assert url("message", message.id) in shown.content.decode()
        assert "1 message still says it." in words_of(shown)
        assert "Forget it there, too" in words_of(shown)
        assert "Start a clean chat" in words_of(shown)

    def test_what_was_learned_elsewhere_too_is_listed_as_staying(self, browser, alice):
        first, second = talk(alice, SAID)[0], talk(alice, SAID)[0]
        memory = learn(first)
        learn(second)

        shown = preview_of(browser, "conversation", first.conversation_id)

        assert "1 was learned elsewhere too, or corrected by you." in words_of(shown)
        assert url("fact", memory.id) in shown.content.decode()

    def test_copies_of_a_conversation_stay_unless_they_are_asked_for(self, browser, alice):
        (turn,) = talk(alice, SAID)
        conversations.fork_conversation(alice, turn.id, idempotency_key="copy", now=timezone.now())

        shown = preview_of(browser, "conversation", turn.conversation_id)
        wider = preview_of(browser, "conversation", turn.conversation_id, with_copies="1")
        post(browser, wider, with_copies="1")

        assert "1 other chat holds the same words, and stays." in words_of(shown)
        assert "2 conversations" in words_of(wider)
        assert not Conversation.objects.filter(user=alice, deleted_at=None).exists()

    @pytest.mark.parametrize("scope", ["memory", "memory_and_source", "conversation", "run", "experience"])
    def test_an_id_in_another_spelling_is_the_same_id(self, browser, alice, scope):
        ids = everything_of(alice)
        row_id = getattr(ids, f"{'memory' if scope == 'memory_and_source' else scope}_id")

        shown = preview_of(browser, scope, row_id.hex)

        assert shown.status_code == 200
        assert str(row_id) in shown.context["back_url"]

    def test_nothing_there_is_said_without_a_button(self, browser):
        shown = preview_of(browser, "recent", "hour")

        assert "There is nothing there to forget" in words_of(shown)
        assert "forget-form" not in shown.content.decode()

    def test_more_takes_no_more_queries_and_stays_small(self, browser, alice, django_assert_num_queries):
        def look():
            return preview_of(browser, "kind", "preference")

        def learn(*numbers):
            for number in numbers:
                remember(alice, f"I like fruit number {number} " + "x" * 300, kind="preference")

        learn(*range(MANY_TEXTS))
        with CaptureQueriesContext(connection) as with_many:
            look()
        learn(*range(MANY_TEXTS, 2 * MANY_TEXTS))

        with django_assert_num_queries(len(with_many)):
            shown = look()

        assert len(shown.content) < PAGE_BYTES

    def test_choosing_takes_no_more_queries_for_more(self, browser, alice, django_assert_num_queries):
        remember(alice, "I like figs", kind="preference")
        with CaptureQueriesContext(connection) as with_one:
            browser.get(url())
        for kind in ("event", "preference", "identity"):
            remember(alice, f"Something of {kind}", kind=kind, channel=Memory.Channel.CHAT)

        with django_assert_num_queries(len(with_one)):
            browser.get(url())


class TestForgetting:
    def test_it_lands_on_the_receipt_and_nothing_finds_it(self, browser, alice):
        remember(alice, "I like figs", kind="preference")
        remember(alice, "I met Ada")

        answer = post(browser, preview_of(browser, "kind", "preference"))

        receipt = receipt_of(answer)
        assert (receipt.scope, receipt.subject) == (Scope.KIND, "preference")
        assert receipt.undo_until > timezone.now() + timedelta(minutes=9)
        assert live(alice) == ["I met Ada"]
        assert "I like figs" not in words_of(browser.get(answer["Location"]))

    def test_for_good_at_once_when_asked_for(self, browser, alice):
        memory = remember(alice, "I like figs").memory

        answer = post(browser, preview_of(browser, "memory", memory.id), at_once="1")

        assert receipt_of(answer).undo_until is None
        assert not Memory.everything.filter(id=memory.id).exists()

    def test_what_came_since_the_look_is_shown_before_it_goes(self, browser, alice):
        remember(alice, "I like figs", kind="preference")
        shown = preview_of(browser, "kind", "preference")
        remember(alice, "I like plums", kind="preference")

        answer = post(browser, shown)

        assert answer.status_code == 422
        assert "It changed meanwhile." in words_of(answer)
        assert "I like plums" in words_of(answer)
        assert len(live(alice)) == 2

    def test_many_go_after_a_typed_word_only(self, browser, alice):
        for number in range(BY_WORD + 1):
            remember(alice, f"I like fruit number {number}", kind="preference")
        shown = preview_of(browser, "kind", "preference")

        untyped, wrong = post(browser, shown), post(browser, shown, typed="yes")
        kept = len(live(alice))
        done = post(browser, shown, typed=" Forget ")

        assert (untyped.status_code, wrong.status_code, kept) == (422, 422, BY_WORD + 1)
        assert "Type the word “forget” to go on." in words_of(wrong)
        assert (done.status_code, live(alice)) == (302, [])

    def test_everything_goes_after_a_typed_word_only_and_the_account_stays(self, browser, alice):
        everything_of(alice)
        shown = preview_of(browser, "everything")

        untyped = post(browser, shown)
        kept = Conversation.objects.filter(user=alice).exists()
        done = post(browser, shown, typed="forget")

        assert (untyped.status_code, kept) == (422, True)
        assert receipt_of(done).scope == Scope.EVERYTHING
        assert not Conversation.objects.filter(user=alice).exists()
        assert User.objects.filter(id=alice.id).exists()

    def test_a_fact_that_went_meanwhile_is_not_found(self, browser, alice):
        memory = remember(alice, "I like figs").memory
        shown = preview_of(browser, "memory", memory.id)
        forget(alice.id, Asked(Scope.MEMORY, str(memory.id)), now=timezone.now())

        assert post(browser, shown).status_code == 404


class TestAccount:
    def test_it_asks_for_the_password_and_then_says_signed_out_what_is_pending(self, browser, alice, carol):
        everything_of(alice)

        shown = preview_of(browser, "account")
        wrong = post(browser, shown, password="guess")
        is_kept = User.objects.filter(id=alice.id).exists()
        done = post(browser, shown, password="alice-password")

        assert "Your password" in words_of(shown)
        assert (wrong.status_code, is_kept) == (422, True)
        assert "This is not your password." in words_of(wrong)
        assert done.status_code == 200
        assert "Your account is deleted" in words_of(done)
        assert "Backups" in words_of(done)
        assert not User.objects.filter(id=alice.id).exists()
        assert browser.get(url())["Location"].startswith("/accounts/login/")

    def test_who_has_no_password_types_the_word(self, browser, alice, carol):
        alice.set_unusable_password()
        alice.save()
        browser.force_login(alice)

        shown = preview_of(browser, "account")
        wrong = post(browser, shown, typed="yes")
        done = post(browser, shown, typed="forget")

        assert wrong.status_code == 422
        assert "Your account is deleted" in words_of(done)

    def test_the_last_admin_is_told_why_not(self, carol):
        staff = signed_in(carol)

        answer = post(staff, preview_of(staff, "account"), password="carol-password")

        assert "You are the only admin here." in words_of(answer)
        assert User.objects.filter(id=carol.id).exists()


class TestOthers:
    @pytest.mark.parametrize("scope", ["memory", "memory_and_source", "conversation", "run", "experience"])
    def test_bob_neither_sees_nor_forgets_what_is_alices(self, client, alice, bob, scope):
        ids = everything_of(alice)
        name = "memory" if scope == "memory_and_source" else scope
        subject = str(getattr(ids, f"{name}_id"))
        client.force_login(bob)

        looked = preview_of(client, scope, subject)
        tried = client.post(url(), {"scope": scope, "id": subject, "shown": "x"})

        assert (looked.status_code, tried.status_code) == (404, 404)

    def test_an_admin_forgets_for_somebody_only_after_opening_their_memory(self, staff, alice):
        memory = remember(alice, "I like figs").memory
        before = preview_of(staff, "memory", memory.id).status_code

        open_memory(staff, alice)
        shown = preview_of(staff, "memory", memory.id)
        receipt = receipt_of(post(staff, shown, person=str(alice.id)))

        assert before == 404
        assert (receipt.user_id, receipt.actor, receipt.actor_name) == (alice.id, "admin", "carol")

    def test_an_admin_deletes_nobodys_account_that_way(self, staff, alice):
        open_memory(staff, alice)

        assert preview_of(staff, "account").status_code == 403
        assert "Delete your account…" not in words_of(staff.get(url()))
