import pytest
from memoryapp.lifecycle.extraction import extract
from memoryapp.longterm.models import Memory
from memoryapp.policies.slots import slot_of
from memoryapp.policies.relations import relation
from memoryapp.policies.dates import happened
from tests.longterm.saying import *
from tests.talking import say
from tests.turns import start, COMMITTED

PAIRS = [
 ("I worked at Acme from 2019 to 2020.", "I worked at Acme again in 2023."),
 ("I worked at Acme from 2019 to 2020.", "I have worked at Acme since 2023."),
 ("I worked at Acme from 2019 to 2020.", "I worked at Acme from 2023 to 2024."),
 ("I worked at Acme 2019–20.", "I work at Acme again since 2023."),
 ("I worked at Acme in 2019.", "I worked at Acme in 2023."),
]
@pytest.mark.parametrize("pair", PAIRS)
def test_probe(alice, pair, configure):
    configure(STRATA_EXTRACTION_DELAY_S="0", ANTHROPIC_API_KEY="", ANTHROPIC_BASE_URL="")
    for text in pair:
        print("SLOT", slot_of(text), remember(alice, text).outcome)
    for m in Memory.objects.all():
        print("  ", m.statement, m.status, m.key, m.valid_from, m.valid_to, m.happened_at)
    c = start(alice)
    Memory.objects.all().delete()
    for text in pair:
        say(c, text)
        print(extract(c))
    for m in Memory.objects.all():
        print(" X ", m.statement, m.status, m.key, m.valid_from, m.valid_to, m.happened_at)
