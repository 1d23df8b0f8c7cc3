"""What the base model is asked to tell: stories of everyday life, reviews, explanations, each request drawn by lot.

They are the kinds of prose that no package holds. No request is taken from, or modelled on, a text that is evaluated.
"""

from __future__ import annotations

import random

NAMES = """Anna, Ben, Carla, David, Ella, Frank, Grace, Henry, Iris, Jack, Kate, Leo, Maria, Nick, Olivia, Paul,
Quinn, Rosa, Sam, Tina, Uma, Victor, Wendy, Xavier, Yara, Zoe, Amy, Bob, Chloe, Dan, Emma, Fred, Gina, Hugo, Isabel,
Jim, Karen, Lucas, Mia, Nora, Oscar, Penny, Ralph, Sue, Tom, Ursula, Vera, Will, Ann, Bill, Cindy, Derek, Eva, George,
Hannah, Ivan, Jenny, Kevin, Lisa, Mark, Nina, Owen, Peter, Rachel, Steve, Tracy, Vince, Walter"""
KIN = "his brother, her sister, their mother, the neighbour, a friend, the teacher, the boss, a stranger"
THINGS = """a lost wallet, a flat tyre, a new puppy, a school play, a burnt dinner, a birthday cake, a broken phone, a
late bus, a first job, a camping trip, a piano lesson, a garden, a spilled coffee, a bad haircut, a football match, a
job interview, an old car, a noisy neighbour, a surprise party, a rainy day, a stray cat, a library book, a math test,
a sprained ankle, a road trip, a wedding, a new house, a power cut, a diet, a swimming lesson, a garage sale, a
marathon, a blind date, a leaking roof, a toothache, a snowstorm, a guitar, a recipe, a lottery ticket, a missed
flight, a science project, a pair of shoes, a bicycle, a video game, a long queue, an argument, a picnic, a painting,
a bee sting, a fishing trip, a concert, a broken window, a night shift, a letter, a photograph, a spelling contest, a
babysitter, a hospital visit, a grocery list, a kite, a birthday present, a nightmare, a roller coaster, a new
haircut, a traffic jam, a summer camp, a cooking class, a stolen bike, a secret, a promotion, a tent, a basketball
game, a parking ticket, a computer virus, a broken heater, a dance lesson, a thunderstorm, a pet hamster, a new
teacher, a jar of honey, a chess game, a train ride, a museum, a sandwich, a promise, a costume, a messy room, a
headache, a dentist, an exam, a beach, a pumpkin, a snowman, a farm, a trumpet, a ladder, a broken arm"""
PLACES = """an Italian restaurant, a pizza place, a sushi bar, a coffee shop, a nail salon, a hair salon, a car
garage, a dentist, a hotel, a motel, a gym, a bakery, a breakfast diner, a burger place, a taco stand, a Thai
restaurant, a Chinese buffet, a steak house, a sports bar, a wine bar, a brewery, an ice cream shop, a grocery store,
a pharmacy, a clothing shop, a shoe shop, a book shop, a pet shop, a vet, a dry cleaner, a plumber, a moving company,
a spa, a massage studio, a yoga studio, a cinema, a theatre, a museum, a zoo, an airport, an airline, a car rental, a
phone repair shop, a furniture store, a hardware store, a florist, a wedding venue, a golf course, a day care, an
apartment complex, a bank, a doctor's office, a tattoo studio, a barbecue place, an Indian restaurant, a Vietnamese
restaurant, a vegan cafe, a sandwich shop, a doughnut shop, a food truck"""
MOODS = """very happy, disappointed, angry, pleasantly surprised, of two minds, a regular guest, a first-time
customer, in a hurry, with small children, celebrating a birthday, on a budget, hard to please"""
FIELDS = """sorting, hash tables, network routing, image segmentation, speech recognition, machine translation,
reinforcement learning, graph colouring, database indexing, query optimisation, distributed consensus, cryptography,
malware detection, wireless sensors, cloud scheduling, software testing, program verification, type systems,
compilers, garbage collection, robot navigation, computer vision, recommender systems, social networks, information
retrieval, text classification, parsing, topic models, neural networks, kernel methods, clustering, dimension
reduction, optimisation, integer programming, approximation algorithms, online algorithms, complexity theory, error
correcting codes, compression, signal processing, human-computer interaction, visualisation, virtual reality, version
control, code review, operating systems, file systems, caching, memory models, parallel computing, quantum computing,
bioinformatics, medical imaging, game theory, auctions, privacy, blockchains, web search, crowdsourcing, planning"""
_STORIES = (
    "Write a very short story about {name} and {thing}. Five simple sentences.",
    "Tell what happened to {name} with {thing}, in five or six short sentences about everyday life.",
    "Write a short paragraph about {name}, {kin} and {thing}. Plain words, past tense.",
    "Tell a short true-to-life story that begins with {name} and ends well. It is about {thing}.",
    "Write a short everyday story in which {name} learns something from {thing}.",
)
_REVIEWS = (
    "Write an honest online review of {place}. You are {mood}.",
    "You went to {place} last week and were {mood}. Write what you would post about it.",
    "Write a short review of {place} as a customer who is {mood}. Name details.",
)
_SCIENCE = (
    "Write the abstract of a computer science paper about {field} and {other}.",
    "Explain a recent result about {field} in one paragraph, as a researcher would.",
)


def request(lot: random.Random) -> str:
    """One request: of ten, six for a story, three for a review, one for an abstract."""
    kind = lot.random()
    templates = _STORIES if kind < 0.6 else _REVIEWS if kind < 0.9 else _SCIENCE
    return lot.choice(templates).format(
        name=_one(NAMES, lot), kin=_one(KIN, lot), thing=_one(THINGS, lot), place=_one(PLACES, lot),
        mood=_one(MOODS, lot), field=_one(FIELDS, lot), other=_one(FIELDS, lot),
    )  # fmt: skip


def _one(listed: str, lot: random.Random) -> str:
    return " ".join(lot.choice(listed.split(",")).split())
