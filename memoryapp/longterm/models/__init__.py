"""TIER 3: what is worth keeping across conversations, for how long, and who says so."""

from memoryapp.longterm.models.experiences import Experience, ExperienceQuerySet
from memoryapp.longterm.models.expiry import fading_at
from memoryapp.longterm.models.forgettings import Forgetting, LifetimeChange, Tombstone
from memoryapp.longterm.models.kinds import MAX_DAYS, Kind, KindChange, KindRefusal
from memoryapp.longterm.models.memories import Feedback, Memory, MemoryQuerySet, MemorySource, MemoryVersion

__all__ = [
    "MAX_DAYS",
    "Experience",
    "ExperienceQuerySet",
    "Feedback",
    "Forgetting",
    "Kind",
    "KindChange",
    "KindRefusal",
    "LifetimeChange",
    "Memory",
    "MemoryQuerySet",
    "MemorySource",
    "MemoryVersion",
    "Tombstone",
    "fading_at",
]
