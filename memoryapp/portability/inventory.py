"""Where everything that is stored about a person is in their archive, and why the rest is not.

Every table with a way to a person has a line here; ``tests/portability/test_inventory.py`` walks all tables and fails
on one without.
"""

from typing import Final

from memoryapp.portability.tables import TABLES

# In ``strata.json``, from where an import restores it.
MOVED: Final = frozenset({"accounts.User", *(table.model._meta.label for table in TABLES)})  # noqa: SLF001
# In ``account.json``: about this account, and true of no other.
TOLD: Final = frozenset(
    {
        "accounts.User",
        "accounts.ApiToken",
        "accounts.SignInLink",
        "account.EmailAddress",
        "activity.Entry",
        "activity.Opening",
        "activity.Reading",
        "receipts.Receipt",
        "tuning.DayUsage",
        "lifecycle.LifecycleRun",
        # What a tool may do without asking, and which servers are used: a file must not grant that.
        "scratchpad.Grant",
        "tooling.ServerUse",
        "portability.ImportBatch",
    }
)
LEFT_OUT: Final = {
    "transcript.MessageKey": "words and vectors that are made anew from the messages",
    "longterm.Forgetting": "that something was forgotten is told by its receipt; what, is out of every read",
    "longterm.Tombstone": "digests under a key that no file may hold; they say nothing without it",
    "longterm.LifetimeChange": "an undo that lasts an hour",
    "portability.ImportFile": "a file that its person has, kept until it is imported",
    "portability.ImportItem": "which record of an imported file became which row: the rows are there",
    "accounts.User_groups": "what the account may do here, set by an admin",
    "accounts.User_user_permissions": "what the account may do here, set by an admin",
    "account.EmailConfirmation": "a secret that was sent to the address",
    "admin.LogEntry": "what an admin did here: the installation's record, without content",
    "longterm.KindChange": "what an admin changed for everyone",
    "tuning.Setting": "what an admin set for everyone",
    "tuning.SettingChange": "what an admin set for everyone",
}
