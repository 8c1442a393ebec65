"""Accounts that are deleted at the same time."""

import threading
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress

from django.db import connections
from django.utils import timezone

from memoryapp.accounts import operations as accounts
from memoryapp.accounts.models import User
from memoryapp.forgetting.operations import forget
from memoryapp.forgetting.scopes import Asked
from memoryapp.receipts.models import Scope
from tests.turns import COMMITTED

pytestmark = COMMITTED
TOGETHER_S = 3  # longer than the other needs to come as far, if it is let


def test_of_two_admins_who_leave_at_once_one_stays(alice, bob, monkeypatch):
    User.objects.update(is_staff=False)
    User.objects.filter(id__in=[alice.id, bob.id]).update(is_staff=True)
    both, erase_person = threading.Barrier(2), accounts.erase_person

    def erase_with_the_other(user_id):
        with suppress(threading.BrokenBarrierError):
            both.wait(TOGETHER_S)
        erase_person(user_id)

    def leave(user):
        try:
            forget(user.id, Asked(Scope.ACCOUNT, ""), now=timezone.now())
        except accounts.LastAdminError:
            return "stays"
        finally:
            connections.close_all()
        return "gone"

    monkeypatch.setattr(accounts, "erase_person", erase_with_the_other)
    with ThreadPoolExecutor(2) as threads:
        outcomes = list(threads.map(leave, [alice, bob]))

    assert sorted(outcomes) == ["gone", "stays"]
    assert User.objects.filter(is_staff=True, is_active=True).count() == 1
