"""Facts that are planted in small talk, and what somebody asks about each of them later."""

import json
from collections.abc import Sequence
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path

from memoryapp.bench.installation import BenchFailedError


@dataclass(frozen=True, slots=True)
class Needle:
    """``asked``: in the words of the fact; ``reworded``: as somebody asks who no longer knows how it was put."""

    said: str
    asked: str
    reworded: str


NEEDLES: tuple[Needle, ...] = tuple(
    Needle(*fact)
    for fact in (
        (
            "By the way, the locker code at the gym is 4417.",
            "What is the code of the gym locker?",
            "How do I open my gym locker?",
        ),
        (
            "My sister Ines is allergic to hazelnuts.",
            "Which nuts is Ines allergic to?",
            "What must my sister not eat?",
        ),
        (
            "The invoice number of the plumber is INV-20817.",
            "What was the number of the plumber's invoice?",
            "plumber bill number",
        ),
        (
            "We parked the van on level 3 of the Riverside garage.",
            "Where did we park the van?",
            "Where did I leave the vehicle?",
        ),
        (
            "The wifi password hint is 'grandma's first dog'.",
            "What is the hint for the wifi?",
            "wlan password hint?",
        ),
        ("My dentist is Dr. Okafor on Mill Street.", "Who is my dentist?", "Who looks after my teeth?"),
        (
            "The boiler was serviced on 14 March.",
            "When was the boiler serviced?",
            "date of the heating maintenance",
        ),
        (
            "I promised Marta to bring the projector on Friday.",
            "What did I promise Marta?",
            "what am I taking for Marta on Friday?",
        ),
        ("Our flight to Oslo is SK1482.", "Which flight goes to Oslo?", "flight number Oslo"),
        (
            "The spare key is under the blue flowerpot.",
            "Where is the spare key?",
            "Where did I put the extra key?",
        ),
        ("My bike's frame number is WTU-556-K.", "What is the frame number of my bike?", "bicycle frame no."),
        (
            "The recipe needs 350 grams of buckwheat flour.",
            "How much buckwheat flour does the recipe need?",
            "grams of flour in the recipe",
        ),
        (
            "Tomasz moved to Gdansk last month.",
            "Where does Tomasz live since he moved?",
            "Which city is Tomasz in now?",
        ),
        (
            "The staging database is called heron-two.",
            "What is the name of the staging database?",
            "staging db name",
        ),
        (
            "I owe Priya 42 euros for the concert.",
            "How much do I owe Priya?",
            "What money do I need to give back to Priya?",
        ),
        (
            "The landlord's phone number ends in 8830.",
            "How does the landlord's number end?",
            "last digits of landlord's phone",
        ),
        (
            "Our cat Nimbus takes half a tablet at noon.",
            "What medicine does Nimbus take?",
            "cat's pill dosage",
        ),
        (
            "The paint in the hall is called Morning Fog.",
            "What is the paint in the hall called?",
            "hallway colour",
        ),
        ("My passport expires in August 2031.", "When does my passport expire?", "passport valid until"),
        ("The quiet carriage is number 7.", "Which carriage is the quiet one?", "quiet coach number"),
        (
            "Grandfather's watch was made in Besançon.",
            "Where was grandfather's watch made?",
            "grandpa's watch Besancon",
        ),
        (
            "The contract with Hellmann ends on 30 September.",
            "When does the Hellmann contract end?",
            "Hellmann contract expiry",
        ),
        (
            "I keep the warranty papers in the green folder.",
            "In which folder are the warranty papers?",
            "where do I keep guarantees?",
        ),
        ("The museum is closed on Tuesdays.", "On which days is the museum closed?", "museum closing day"),
        ("My blood type is B negative.", "What is my blood type?", "blood group"),
        (
            "The tent poles are in the attic, left of the ladder.",
            "Where are the tent poles?",
            "where in the attic are the tent poles",
        ),
        ("Ticket KLM-77 is about the broken export.", "What is ticket KLM-77 about?", "KLM-77"),
        (
            "The neighbour's dog is called Pretzel.",
            "What is the neighbour's dog called?",
            "neighbor's dog name",
        ),
        (
            "The rehearsal was moved to the chapel.",
            "Where is the rehearsal now?",
            "new place of the rehearsal",
        ),
        ("Water the orchid with exactly two ice cubes.", "How do I water the orchid?", "watering orchids"),
        ("My first car was a Saab 900.", "What was my first car?", "the car I had first"),
        ("The printer wants cartridge 304XL.", "Which cartridge does the printer want?", "printer ink"),
        ("Aunt Rosa's birthday is on 2 November.", "When is Aunt Rosa's birthday?", "Rosa birthday date"),
        ("The alarm is switched off with 9051.", "How is the alarm switched off?", "alarm code"),
        ("We chose the oak table from Lindqvist.", "Which table did we choose?", "table we bought"),
        ("The trail begins behind the sawmill.", "Where does the trail begin?", "start of the hiking trail"),
        ("My tax adviser is called Benedikt Auer.", "What is my tax adviser called?", "tax advisor name"),
        (
            "The server room is kept at 19 degrees.",
            "At how many degrees is the server room kept?",
            "temperature in the server room",
        ),
        ("Leila's choir sings on Thursday evenings.", "When does Leila's choir sing?", "When is choir?"),
        (
            "The warranty of the dishwasher runs for five years.",
            "How long is the dishwasher's warranty?",
            "dishwasher guarantee length",
        ),
        (
            "I hid the present behind the encyclopedias.",
            "Where did I hide the present?",
            "where is the gift hidden",
        ),
        ("The ferry leaves from pier 12.", "From which pier does the ferry leave?", "ferry departure"),
        ("Our team's mascot is a heron named Gustav.", "What is the mascot of our team?", "team mascot"),
        ("The vet said Biscuit weighs 11 kilos.", "How much does Biscuit weigh?", "Biscuit's weight"),
        (
            "Return the drill to Otto before Easter.",
            "To whom do I return the drill?",
            "Who gets the drill back?",
        ),
        (
            "The best seat in the theatre is F14.",
            "Which seat in the theatre is the best?",
            "best theater seat",
        ),
        ("My locker at work is number 266.", "Which number has my locker at work?", "work locker number"),
        (
            "The sourdough starter is named Clint.",
            "What is the sourdough starter named?",
            "name of my sourdough",
        ),
        (
            "The meeting about the merger is in room Aalto.",
            "In which room is the merger meeting?",
            "merger meeting room",
        ),
        ("Mother's favourite opera is Rusalka.", "What is mother's favourite opera?", "mum's opera"),
    )
)


def data_set() -> Path:
    """Where the chit-chat data set (MIT) is; it comes with ``make install-dev``."""
    found = find_spec("chitchat_dataset")
    if found is None or found.origin is None:
        raise BenchFailedError(
            "The needle test needs the chit-chat data set. Install it with 'make install-dev'."
        )
    return Path(found.origin).with_name("dataset.json")


def small_talk(turns: int) -> Sequence[tuple[str, str]]:
    """That many exchanges between people."""
    talks = json.loads(data_set().read_text())
    pairs: list[tuple[str, str]] = []
    for talk in talks.values():
        said = [" ".join(part["text"] for part in message).strip() for message in talk["messages"]]
        pairs += [(one, other) for one, other in zip(said[::2], said[1::2], strict=False) if one and other]
        if len(pairs) >= turns:
            break
    return pairs[:turns]
