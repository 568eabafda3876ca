"""A corpus with three relations in it, made by rule, so that what should be learned is known.

Each word that matters keeps company with words of its topic and with words of its side of the
relation (L2 §1.6): king with palace and crown, and with he and his.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

N_TOPICAL, N_SIDED, N_FILLER = 3, 2, 2  # companions a sentence
FILLERS = "the a of and to in on with for by at from".split()


@dataclass(frozen=True)
class Relation:
    """Pairs of words, and the company of either side.

    Attributes:
        pairs: (first, second), as (king, queen).
        topics: words that both of a pair keep company with, pair by pair.
        first_side, second_side: words that go with the first, and with the second, of every pair.
    """

    name: str
    pairs: tuple[tuple[str, str], ...]
    topics: tuple[tuple[str, ...], ...]
    first_side: tuple[str, ...]
    second_side: tuple[str, ...]


def _relation(name: str, first_side: str, second_side: str, table: str) -> Relation:
    """A relation from lines `first second: topic topic topic topic`."""
    lines = [line.split(":") for line in table.strip().splitlines()]
    pairs = tuple((a, b) for words, _ in lines for a, b in [words.split()])
    topics = tuple(tuple(words.split()) for _, words in lines)
    return Relation(name, pairs, topics, tuple(first_side.split()), tuple(second_side.split()))


RELATIONS = (
    _relation(
        "male and female",
        "he his",
        "she her",
        """
        king queen: throne palace crown kingdom
        man woman: adult person work voter
        father mother: parent child home family
        boy girl: toy school playground young
        husband wife: wedding marriage ring anniversary
        uncle aunt: cousin visit holiday relative
        actor actress: film stage scene camera
        prince princess: castle royal tale ball
        waiter waitress: menu table order tip
        wizard witch: spell potion broom magic
        """,
    ),
    _relation(
        "country and capital",
        "nation border",
        "city streets",
        """
        france paris: seine croissant louvre gaul
        italy rome: tiber pasta vatican forum
        japan tokyo: sushi shogun shrine sumida
        china beijing: wall dynasty dumpling hutong
        egypt cairo: nile pyramid pharaoh bazaar
        greece athens: olive acropolis agora myth
        russia moscow: kremlin tundra ballet borscht
        spain madrid: flamenco tapas prado paella
        germany berlin: autobahn bratwurst reichstag spree
        england london: thames tea parliament fog
        """,
    ),
    _relation(
        "positive and comparative",
        "very quite",
        "than even",
        """
        big bigger: elephant mountain size giant
        small smaller: ant mouse grain tiny
        fast faster: race car runner speed
        slow slower: snail turtle traffic queue
        hot hotter: summer desert oven fire
        cold colder: winter ice snow frost
        strong stronger: muscle rope lion steel
        weak weaker: flu thread bridge signal
        old older: ruin antique grandparent fossil
        tall taller: tower giraffe tree ladder
        """,
    ),
)


@dataclass(frozen=True)
class Corpus:
    """Sentences as word numbers.

    Attributes:
        words: the vocabulary; a word's number is its place.
        sentences: (n, length) int.
    """

    words: tuple[str, ...]
    sentences: np.ndarray

    def number(self, word: str) -> int:
        """The number of a word; KeyError where it is not in the vocabulary."""
        try:
            return self.words.index(word)
        except ValueError:
            raise KeyError(f"{word!r} is not in the vocabulary") from None

    @property
    def counts(self) -> np.ndarray:
        """How often each word occurs, (V,)."""
        return np.bincount(self.sentences.ravel(), minlength=len(self.words))


def make_corpus(n_sentences: int = 20_000, seed: int = 0) -> Corpus:
    """Sentences of eight words: one of a pair, topical words, words of its side, fillers, shuffled.

    20,000 sentences have 160,000 words; the document's corpus had 155,000.
    """
    rng = np.random.default_rng(seed)
    words = tuple(dict.fromkeys(_all_words()))
    number = {word: i for i, word in enumerate(words)}
    subjects = list(_subjects())
    sentences = []
    for choice in rng.integers(len(subjects), size=n_sentences):
        subject, topic, side = subjects[choice]
        company = [
            *rng.choice(topic, N_TOPICAL, replace=False),
            *rng.choice(side, N_SIDED, replace=False),
            *rng.choice(FILLERS, N_FILLER, replace=False),
        ]
        sentences.append(rng.permutation([number[word] for word in (subject, *company)]))
    return Corpus(words, np.array(sentences))


def _all_words():
    for relation in RELATIONS:
        yield from (word for pair in relation.pairs for word in pair)
        yield from (word for topic in relation.topics for word in topic)
        yield from (*relation.first_side, *relation.second_side)
    yield from FILLERS


def _subjects():
    """(word, its topic, its side) for each word of each pair."""
    for relation in RELATIONS:
        for (first, second), topic in zip(relation.pairs, relation.topics, strict=True):
            yield first, topic, relation.first_side
            yield second, topic, relation.second_side
