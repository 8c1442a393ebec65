"""What a test that commits leaves to the next one: what the migrations wrote, and nothing else."""

from django.core.management import call_command

from memoryapp.accounts.models import User
from memoryapp.longterm.models import Kind
from tests.turns import COMMITTED


@COMMITTED
def test_a_flush_takes_what_was_committed_and_gives_back_what_was_changed(alice):
    written = list(Kind.objects.order_by("id").values())
    Kind.objects.filter(id=written[0]["id"]).update(label="Changed")
    Kind.objects.filter(id=written[1]["id"]).delete()

    call_command("flush", interactive=False, inhibit_post_migrate=True)

    assert list(Kind.objects.order_by("id").values()) == written
    assert not User.objects.exists()
