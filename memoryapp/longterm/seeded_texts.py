"""What the kinds that every installation begins with say, for the catalogues of translations.

They are rows: pages translate a label or a rationale when they show it, and what an admin wrote instead stays as it is.
"""

from typing import Final

from django.utils.translation import gettext_noop

SEEDED_TEXTS: Final = frozenset(
    {
        gettext_noop("Who you are"),
        gettext_noop("Names, family, language and time zone rarely change; forgetting them would be rude."),
        gettext_noop("Standing rules and limits"),
        gettext_noop("Allergies, diets and rules such as 'answer in French' must hold until you lift them."),
        gettext_noop("How to reach you"),
        gettext_noop("Contact habits change with jobs and devices; a year keeps them fresh."),
        gettext_noop("Likes and dislikes"),
        gettext_noop("Tastes drift; one that has not come up for a year should be asked again."),
        gettext_noop("Decisions"),
        gettext_noop("A decision guides work for a season; older ones are usually superseded."),
        gettext_noop("Events and plans"),
        gettext_noop("Plans and happenings matter around their date; half a year covers the follow-up."),
        gettext_noop("Order and ticket numbers"),
        gettext_noop("Cases close within weeks; an old number does more harm than good."),
        gettext_noop("Details of the moment"),
        gettext_noop("What only matters today is gone by the end of tomorrow."),
        gettext_noop("What the assistant learned"),
        gettext_noop("Tools and data change; a lesson older than half a year should be learned again."),
        gettext_noop("Scratchpad records"),
        gettext_noop(
            "A finished run is kept for a day so that you can look at it, then it is of no more use."
        ),
    }
)
