"""Writes of what is set at run time, and of what was used of a day's budget."""

from collections.abc import Mapping
from datetime import datetime
from decimal import Decimal
from uuid import UUID

from django.db import connection, transaction
from django.utils.translation import gettext
from pydantic import ValidationError

from memoryapp.accounts.models import User
from memoryapp.conf import get_conf
from memoryapp.errors import InvalidInputError, MemoryAppError, NotFoundError
from memoryapp.llm.base import Usage
from memoryapp.policies import reasons
from memoryapp.tuning import queries
from memoryapp.tuning.knobs import PAIR, TUNABLE, Value, shown
from memoryapp.tuning.models import Setting, SettingChange

REASON_MAX_CHARS = 300

# One at a time: what one admin sets is checked against what the other has just set.
ONE_AT_A_TIME = "LOCK TABLE tuning_setting IN SHARE ROW EXCLUSIVE MODE"

SPEND = """
INSERT INTO tuning_dayusage AS usage (id, user_id, day, input_tokens, output_tokens, usd)
SELECT gen_random_uuid(), person.id, (now() AT TIME ZONE person.time_zone)::date,
       %(input_tokens)s, %(output_tokens)s, %(usd)s
FROM accounts_user AS person WHERE person.id = %(user_id)s
ON CONFLICT (user_id, day) DO UPDATE SET
    input_tokens = usage.input_tokens + excluded.input_tokens,
    output_tokens = usage.output_tokens + excluded.output_tokens,
    usd = usage.usd + excluded.usd
"""


class SettingsRefusedError(InvalidInputError):
    """``problems``: knob → what is wrong with its value."""

    code = "settings_refused"

    def __init__(self, problems: Mapping[str, str]) -> None:
        super().__init__(gettext("Nothing was changed: some values cannot be."), problems=dict(problems))
        self.problems = dict(problems)


class ChangeNotUndoableError(MemoryAppError):
    code = "change_not_undoable"
    http_status = 409


def check(values: Mapping[str, Value], *, seen: Mapping[str, Value]) -> dict[str, Value]:
    """Those of ``values`` that would change something, in force as things stand.

    ``seen``: what whoever changes them had in front of them. Raises ``SettingsRefusedError``: what the environment
    sets, what another admin changed meanwhile, what contradicts the rest; InvalidInputError when nothing differs.
    """
    conf = queries.conf()
    changed = {name: value for name, value in values.items() if value != getattr(conf, name)}
    problems = {
        name: gettext("The environment sets this one. Change it there.")
        for name in changed
        if name in queries.fixed() or name not in TUNABLE
    }
    changed_too = gettext("Somebody changed it to {value} meanwhile. Save again to keep yours.")
    problems |= {
        name: changed_too.format(value=shown(TUNABLE[name], getattr(conf, name)))
        for name in changed.keys() - problems.keys()
        if name in seen and seen[name] != getattr(conf, name)
    }
    problems = problems or _contradictions(changed)
    if problems:
        raise SettingsRefusedError(problems)
    if not changed:
        raise InvalidInputError(gettext("All values are as they were."))
    return changed


def clean_reason(reason: str) -> str:
    """Raises ``ReasonMissingError``."""
    return reasons.cleaned(reason, max_chars=REASON_MAX_CHARS)


def change(
    values: Mapping[str, Value], *, by: User, reason: str, now: datetime, seen: Mapping[str, Value]
) -> SettingChange:
    """Set these, all or none; a value that is the configured one takes the setting away.

    Raises what ``check`` and ``clean_reason`` raise.
    """
    reason = clean_reason(reason)
    with transaction.atomic(durable=True):
        _lock()
        changed = check(values, seen=seen)
        before = dict.fromkeys(changed) | dict(
            Setting.objects.filter(name__in=changed).values_list("name", "value")
        )
        configured = get_conf()
        after = {
            name: None if value == getattr(configured, name) else value for name, value in changed.items()
        }
        _set(after, by=by, reason=reason, now=now)
        return SettingChange.objects.create(
            before=before, after=after, changed_by=by, changed_at=now, reason=reason
        )


def values_before(change_id: UUID) -> dict[str, Value]:
    """What undoing a change sets. Raises NotFoundError, ``ChangeNotUndoableError``."""
    return _values_before(_get(change_id))


def undo(change_id: UUID, *, by: User, now: datetime) -> SettingChange:
    """Set what was set before a change, unless any of it was changed again since.

    Raises NotFoundError, ``ChangeNotUndoableError``, ``SettingsRefusedError``.
    """
    with transaction.atomic(durable=True):
        _lock()
        found = _get(change_id)
        check(_values_before(found), seen={})
        _set(found.before, by=by, reason=found.reason, now=now, is_undoing=True)
        found.undone_at, found.undone_by = now, by
        found.save(update_fields=["undone_at", "undone_by"])
        return found


def spend(user_id: UUID, usage: Usage, *, in_background: bool = False) -> None:
    """Count it for the person's day, as a part of the caller's transaction: of the chat's model, or the cheap one."""
    if not (usage.total_input_tokens or usage.output_tokens):
        return  # no model was asked
    conf = queries.conf()
    model = conf.cheap_model if in_background else conf.chat_model
    usd = conf.for_model(model).usd(input_tokens=usage.total_input_tokens, output_tokens=usage.output_tokens)
    with connection.cursor() as cursor:
        cursor.execute(
            SPEND,
            {
                "user_id": user_id,
                "input_tokens": usage.total_input_tokens,
                "output_tokens": usage.output_tokens,
                "usd": Decimal(f"{usd or 0:.6f}"),
            },
        )


def _get(change_id: UUID) -> SettingChange:
    found = SettingChange.objects.filter(id=change_id).first()
    if found is None:
        raise NotFoundError(gettext("There is no such change."))
    return found


def _values_before(found: SettingChange) -> dict[str, Value]:
    set_now = {name: row.value for name, row in queries.settings().items()}
    is_as_it_left_it = all(set_now.get(name) == value for name, value in found.after.items())
    if found.undone_at or not is_as_it_left_it or not found.after.keys() <= TUNABLE.keys():
        raise ChangeNotUndoableError(
            gettext("It was undone, or what it set was changed again since. Set it anew instead.")
        )
    configured = get_conf()
    return {
        name: getattr(configured, name) if value is None else value for name, value in found.before.items()
    }


def _contradictions(changed: Mapping[str, Value]) -> dict[str, str]:
    """Ranges were checked where the values were read: what is left is how two of them stand to each other."""
    try:
        queries.conf().with_values(changed)
    except ValidationError:
        pair = changed.keys() & PAIR or changed.keys()
        said = gettext("A reply must wait for a summary later than the background makes one.")
        return dict.fromkeys(pair, said)
    return {}


def _lock() -> None:
    with connection.cursor() as cursor:
        cursor.execute(ONE_AT_A_TIME)
    queries.forget_known()  # what is checked is what holds now
    transaction.on_commit(queries.forget_known)


def _set(
    values: Mapping[str, Value | None], *, by: User, reason: str, now: datetime, is_undoing: bool = False
) -> None:
    for name, value in values.items():
        if value is None:
            Setting.objects.filter(name=name).delete()
        else:
            Setting.objects.update_or_create(
                name=name,
                defaults={
                    "value": value,
                    "changed_by": by,
                    "changed_at": now,
                    "reason": reason,
                    "is_undoing": is_undoing,
                },
            )
    queries.forget_known()
