"""GIVEN: a small corpus whose relations are known, and the training loop around your train_step.

    python -m assignment.word_vectors                   learn, and see what the vectors know
    python -m assignment.word_vectors king              which words are nearest to king?
    python -m assignment.word_vectors man woman king    man is to woman as king is to whom?

Uses noise_distribution, train_step, nearest, analogy and embed; it takes a second or two.
"""

from __future__ import annotations

import argparse
import importlib
import sys
import textwrap
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from types import ModuleType

import numpy as np

DIM, N_NEGATIVE, BATCH_SIZE, EPOCHS, LEARNING_RATE = 16, 4, 128, 3, 0.2

Pair = tuple[str, str]


class UnknownWord(Exception):
    """A word that is in no sentence of the corpus."""


@dataclass(frozen=True)
class Relation:
    """Pairs of words, and the company they keep.

    Attributes:
        sides: words beside the first word of every pair, and words beside the second.
        topics: words beside both words of a pair.
    """

    name: str
    sides: tuple[tuple[str, ...], tuple[str, ...]]
    topics: dict[Pair, tuple[str, ...]]


def _relation(name: str, first_side: str, second_side: str, table: str) -> Relation:
    rows = [line.split() for line in table.strip().splitlines()]
    topics = {(first, second): tuple(topic) for first, second, *topic in rows}
    return Relation(name, (tuple(first_side.split()), tuple(second_side.split())), topics)


RELATIONS = (
    _relation(
        "man : woman",
        "he him his",
        "she her hers",
        """
        man woman        street coat letter
        king queen       throne crown palace
        father mother    kitchen dinner baby
        boy girl         school kite puddle
        uncle aunt       postcard garden cake
        wizard witch     wand cauldron owl
        """,
    ),
    _relation(
        "country : capital",
        "nation farmers flag",
        "metro mayor square",
        """
        france paris     baguette seine louvre
        japan tokyo      sushi kimono bonsai
        egypt cairo      nile pyramid camel
        china beijing    dumpling panda silk
        peru lima        llama inca ceviche
        norway oslo      fjord ski salmon
        """,
    ),
    _relation(
        "word : comparative",
        "very so quite",
        "than even much",
        """
        big bigger       whale tower planet
        fast faster      train falcon rocket
        cold colder      ice snow penguin
        old older        fossil castle turtle
        loud louder      drum thunder trumpet
        sweet sweeter    honey candy melon
        """,
    ),
)


@dataclass(frozen=True)
class Corpus:
    """Sentences as word numbers (n, 6); a word's number is its place in `words`."""

    words: tuple[str, ...]
    sentences: np.ndarray

    def numbers(self, *words: str) -> list[int]:
        """The numbers of some words.

        Raises:
            UnknownWord: one of them is in no sentence.
        """
        if unknown := [word for word in words if word not in self.words]:
            raise UnknownWord(unknown[0])
        return [self.words.index(word) for word in words]

    @property
    def counts(self) -> np.ndarray:
        """How often each word occurs, (V,)."""
        return np.bincount(self.sentences.ravel(), minlength=len(self.words))


def make_corpus(rng: np.random.Generator, n_sentences: int = 800) -> Corpus:
    """Six words a sentence: a word of a pair, all its topic and two words of its side, shuffled.

    Nothing says that king and queen are a pair: each only keeps company with its own words.
    """
    subjects = [
        (pair[side], topic, relation.sides[side])
        for relation in RELATIONS
        for pair, topic in relation.topics.items()
        for side in (0, 1)
    ]
    vocabulary = {word for first, topic, side in subjects for word in (first, *topic, *side)}
    words = rng.permutation(sorted(vocabulary)).tolist()
    number = {word: i for i, word in enumerate(words)}
    sentences = []
    for choice in rng.integers(len(subjects), size=n_sentences):
        subject, topic, side = subjects[choice]
        sentence = [subject, *topic, *rng.choice(side, size=2, replace=False).tolist()]
        sentences.append(rng.permutation([number[word] for word in sentence]))
    return Corpus(tuple(words), np.array(sentences))


def batches(corpus: Corpus, noise: np.ndarray, rng: np.random.Generator) -> Iterator[tuple]:
    """(centers (B,), targets (B, 1 + K), learning_rate): what train_step is called with.

    Every word of a sentence is the center once for each of the others. The rate falls to 0.
    """
    length = corpus.sentences.shape[1]
    i, j = np.nonzero(~np.eye(length, dtype=bool))
    centers, contexts = corpus.sentences[:, i].ravel(), corpus.sentences[:, j].ravel()
    cumulative = noise.cumsum()
    rows = np.concatenate([rng.permutation(len(centers)) for _ in range(EPOCHS)])
    for start in range(0, len(rows), BATCH_SIZE):
        batch = rows[start : start + BATCH_SIZE]
        negatives = np.searchsorted(cumulative, rng.random((len(batch), N_NEGATIVE)))
        negatives = np.minimum(negatives, len(noise) - 1)  # the sum may be 1 - 1e-16
        targets = np.concatenate([contexts[batch, None], negatives], axis=1)
        yield centers[batch], targets, LEARNING_RATE * (1 - start / len(rows))


def train(
    train_step: Callable, corpus: Corpus, noise: np.ndarray, rng: np.random.Generator
) -> np.ndarray:
    """Word vectors (V, DIM): the `inputs` after all steps."""
    n_words = len(corpus.words)
    inputs = (rng.random((n_words, DIM)) - 0.5) / DIM
    outputs = np.zeros((n_words, DIM))
    for centers, targets, learning_rate in batches(corpus, noise, rng):
        inputs, outputs = train_step(inputs, outputs, centers, targets, learning_rate)
    return inputs


def questions(corpus: Corpus, relation: Relation) -> np.ndarray:
    """All (a, a_star, b, answer) of a relation, int (n, 4): each pair is asked with each other."""
    pairs = [corpus.numbers(*pair) for pair in relation.topics]
    return np.array([[*one, *other] for one in pairs for other in pairs if one != other])


# --- what the program shows -------------------------------------------------------------------


class Learned:
    """Trained vectors, and the functions of part 9 that are asked about them."""

    def __init__(self, word2vec: ModuleType) -> None:
        self.word2vec = word2vec
        rng = np.random.default_rng(2013)
        self.corpus = make_corpus(rng)
        noise = word2vec.noise_distribution(self.corpus.counts)
        started = time.perf_counter()
        self.vectors = train(word2vec.train_step, self.corpus, noise, rng)
        self.seconds = time.perf_counter() - started

    def neighbours(self, word: str, count: int = 5) -> str:
        """The nearest words, as in `throne 0.97  crown 0.95`."""
        (number,) = self.corpus.numbers(word)
        query = self.word2vec.embed(self.vectors, np.array(number))
        found = self.word2vec.nearest(self.vectors, query, count, exclude=(number,))
        return "  ".join(f"{self.corpus.words[i]} {self._cosine(query, i):.2f}" for i in found)

    def answer(self, a: str, a_star: str, b: str) -> str:
        """The word that is to b as a_star is to a."""
        number = self.word2vec.analogy(self.vectors, *self.corpus.numbers(a, a_star, b))
        return self.corpus.words[number]

    def score(self, relation: Relation) -> tuple[int, int]:
        """How many questions of a relation are answered rightly, and of how many."""
        asked = questions(self.corpus, relation)
        right = [self.word2vec.analogy(self.vectors, *row[:3]) == row[3] for row in asked.tolist()]
        return sum(map(bool, right)), len(right)

    def _cosine(self, query: np.ndarray, number: int) -> float:
        other = self.vectors[number]
        return float(query @ other / np.linalg.norm(query) / np.linalg.norm(other))


def show_all(learned: Learned) -> None:
    """The tour: the corpus, neighbours, analogies, and the score of each relation."""
    corpus = learned.corpus
    print(f"{len(corpus.sentences)} sentences of {len(corpus.words)} words, such as")
    for sentence in corpus.sentences[:3]:
        print("   ", " ".join(corpus.words[i] for i in sentence))
    print(f"\nLearned {DIM} numbers a word in {learned.seconds:.1f} s.\n\nNearest, by cosine:")
    for word in ("king", "paris", "louder"):
        print(f"    {word:7} {learned.neighbours(word)}")
    print("\nNo sentence says which words make a pair. Still:")
    for relation in RELATIONS:
        (a, a_star), (b, _), *_ = relation.topics
        right, n = learned.score(relation)
        asked = f"{a} is to {a_star} as {b} is to {learned.answer(a, a_star, b)}"
        print(f"    {asked:42} {right} of {n} such questions right")
    print("\nAsk yourself: python -m assignment.word_vectors old older sweet")


def main(arguments: list[str]) -> int:
    parser = argparse.ArgumentParser(prog="python -m assignment.word_vectors", description=__doc__)
    parser.formatter_class = argparse.RawDescriptionHelpFormatter
    parser.add_argument("words", nargs="*", help="one word, or three for an analogy")
    parser.add_argument("--impl", default=__package__, help="package with the functions to use")
    options = parser.parse_args(arguments)
    if len(options.words) not in (0, 1, 3):
        parser.error("give one word, or three for an analogy, or none for a tour")
    try:
        learned = Learned(importlib.import_module(f"{options.impl}.word2vec"))
        if not options.words:
            show_all(learned)
        elif len(options.words) == 1:
            print(learned.neighbours(*options.words))
        else:
            print(learned.answer(*options.words))
    except NotImplementedError as stub:
        print(f"Not there yet: {stub} in assignment/.", file=sys.stderr)
        print("This program runs on your functions.", file=sys.stderr)
        return 1
    except UnknownWord as unknown:
        print(f"{unknown} is in no sentence. These words are:", file=sys.stderr)
        print(textwrap.fill(" ".join(sorted(learned.corpus.words)), 96), file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
