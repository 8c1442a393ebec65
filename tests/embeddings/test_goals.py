"""The cutoffs for goals: messages that resemble an earlier goal and messages that do not, with each bundled model."""

from collections.abc import Sequence

import numpy as np
import pytest

from memoryapp.conf import Conf
from memoryapp.embeddings import bundled
from memoryapp.embeddings.base import Embedder
from memoryapp.policies.experiences import SAME_GOAL_COSINE

# A later message, and the goal that it resembles.
SIMILAR = [
    (
        "Work out the total with 19% VAT for 3 licences at 249 euros",
        "How much do 12 seats at 89.50 EUR cost including 19 % VAT?",
    ),
    (
        "Find cheap flights from Berlin to Oslo in March and tell me the best one",
        "Look up flights from Lisbon to Porto next week and pick the cheapest",
    ),
    ("Please send the weekly report to the team", "E-mail the weekly status report to my team"),
    (
        "What did we decide about the database in March?",
        "Find in our old chats what we decided about the database",
    ),
    ("Summarise the README of the django repository", "Read the README of the fastapi repo and summarise it"),
    ("Book a table for 4 on Friday evening", "Reserve a table for two at an Italian restaurant on Saturday"),
    ("Convert 250 USD to CHF and to yen", "Convert 120 dollars into euros and pounds"),
    ("How many days are there until my birthday on 4 July?", "Count the days between today and Christmas"),
    (
        "Compute the monthly payment of a 300000 loan at 3.2 % over 25 years",
        "What is the monthly rate for a mortgage of 180,000 at 4% for 20 years?",
    ),
    (
        "Create a ticket for the login bug and assign it to Clara",
        "Open an issue for the crash on start and assign it to Tom",
    ),
    (
        "Check the weather in Oslo and tell me what to pack",
        "What should I pack for Madrid this weekend? Check the forecast",
    ),
    (
        "Wie viel kosten 5 Lizenzen zu 99 Euro mit Mehrwertsteuer?",
        "How much do 12 seats at 89.50 EUR cost including 19 % VAT?",
    ),
    (
        "Trouve-moi un vol pas cher de Paris à Rome",
        "Look up flights from Lisbon to Porto next week and pick the cheapest",
    ),
    (
        "Rename all files in the photos folder by date",
        "Rename the scans in my documents folder by their date",
    ),
    (
        "Translate this contract to German and e-mail it to Anna",
        "Translate the offer into French and send it to Pierre",
    ),
    ("Deploy the staging branch to the test server", "Deploy main to production and check that it is up"),
    (
        "Look up the price of a Skoda Octavia 2019 and compare it with a Golf",
        "Compare prices of a used VW Passat and a Ford Mondeo from 2018",
    ),
    ("When was invoice 1042 paid?", "Find out when invoice 1041 was paid"),
    ("Make a shopping list for lasagne for six", "Make a shopping list for a curry for four people"),
    (
        "Plan my trip to Rome: three days, museums and food",
        "Plan a weekend in Vienna with museums and good food",
    ),
]

UNRELATED = [
    "What is the capital of France?",
    "Why is the sky blue?",
    "Tell me a joke about cats",
    "Write a poem about autumn",
    "Who wrote Faust?",
    "How do I undo the last git commit?",
    "Thanks a lot, that was very helpful!",
    "I had a great day at the beach with my kids",
    "What's my sister's name?",
    "Can you explain monads?",
    "Give me a recipe for pancakes",
    "Is 97 a prime number?",
    "My back hurts since yesterday, what could it be?",
    "Please shorten this paragraph",
    "What do you think of electric cars?",
    "What is the weather like on Mars?",
    "Which language should I learn next?",
    "Was ist der Sinn des Lebens?",
    "How tall is Mount Everest?",
    "Write a cover letter for a nurse",
    "Fix the bug in my Python function",
    "Explain how mortgages work in general",
    "What are the rules of chess?",
    "Good morning! How are you?",
    "Continue please, I liked the second idea",
    "Remember that I prefer tea over coffee",
    "What did I say about my holiday?",
    "Recommend a book about Rome",
    "How do airlines set prices?",
    "What does VAT mean?",
]

# One goal in two wordings.
REWORDED = [
    (
        "How much do 12 seats at 89.50 EUR cost including 19 % VAT?",
        "What do 12 seats at 89.50 EUR cost with 19 % VAT included?",
    ),
    (
        "Look up flights from Lisbon to Porto next week",
        "Look up the flights from Lisbon to Porto for next week",
    ),
    ("E-mail the weekly status report to my team", "Send the weekly status report to my team by e-mail"),
    (
        "Find in our old chats what we decided about the database",
        "What did we decide about the database in our old chats?",
    ),
    ("Read the README of the fastapi repo and summarise it", "Summarise the README of the fastapi repo"),
    (
        "What should I pack for Madrid this weekend? Check the forecast",
        "Check the forecast for Madrid and tell me what to pack this weekend",
    ),
    ("Find out when invoice 1041 was paid", "When was invoice 1041 paid?"),
    ("Make a shopping list for a curry for four people", "Write a shopping list for a curry for 4"),
    (
        "Plan a weekend in Vienna with museums and good food",
        "Please plan a weekend in Vienna: museums and good food",
    ),
    ("Convert 120 dollars into euros and pounds", "convert 120 dollars to euros and pounds please"),
]

# Two goals that share most of their words.
ALIKE = [
    ("Look up flights from Lisbon to Porto next week", "Look up hotels in Porto for next week"),
    ("E-mail the weekly status report to my team", "Find last week's status report of my team"),
    (
        "Find in our old chats what we decided about the database",
        "Find in our old chats what we decided about the logo",
    ),
    (
        "Read the README of the fastapi repo and summarise it",
        "Read the changelog of the fastapi repo and list breaking changes",
    ),
    (
        "What should I pack for Madrid this weekend? Check the forecast",
        "Is there a museum open in Madrid this weekend?",
    ),
    ("Make a shopping list for a curry for four people", "Make a packing list for a week in Norway"),
    ("Plan a weekend in Vienna with museums and good food", "Plan a week in Norway with hiking"),
    ("Open an issue for the crash on start and assign it to Tom", "Close the issue about the crash on start"),
    (
        "What is the monthly rate for a mortgage of 180,000 at 4%?",
        "How much interest does a mortgage of 180,000 at 4% cost in total?",
    ),
    ("Convert 120 dollars into euros and pounds", "Convert 120 miles into kilometres"),
    ("Delete the old invoices from the folder", "Restore the old invoices to the folder"),
]

MODELS = {
    "pair": lambda: bundled.pair(threads=2, batch_size=8),
    "minilm": lambda: bundled.minilm(threads=2, batch_size=8),
    "use": lambda: bundled.use(threads=2),
}


@pytest.fixture(scope="module", params=MODELS)
def embedder(request) -> Embedder:
    return MODELS[request.param]()


def cosines(embedder: Embedder, pairs: Sequence[tuple[str, str]]) -> np.ndarray:
    first, second = (np.array(embedder.embed_passages(texts)) for texts in zip(*pairs, strict=True))
    return (first * second).sum(axis=1)


def test_most_similar_tasks_are_found_and_few_others(embedder):
    cutoff = Conf.model_fields["experience_min_cosine"].default
    messages, goals = zip(*SIMILAR, strict=True)
    asked, known = (
        np.array(embedder.embed_queries([*messages, *UNRELATED])),
        np.array(embedder.embed_passages(goals)),
    )
    cosine = asked @ known.T
    others = [
        [goal != SIMILAR[row][1] if row < len(SIMILAR) else True for goal in goals]
        for row in range(len(asked))
    ]
    nearest_other = np.where(others, cosine, -1).max(axis=1)

    found = np.diagonal(cosine[: len(SIMILAR)]) >= cutoff

    assert found.mean() >= 0.75
    assert (nearest_other >= cutoff).mean() <= 0.08


def test_what_is_taken_for_one_goal_is_one(embedder):
    assert (cosines(embedder, ALIKE) > SAME_GOAL_COSINE).sum() == 0
    assert (cosines(embedder, REWORDED) >= SAME_GOAL_COSINE).sum() >= 4
