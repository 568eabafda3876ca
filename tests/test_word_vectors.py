"""The program around part 9: python -m assignment.word_vectors, and its corpus."""

from __future__ import annotations

import re
import subprocess
import sys
from functools import partial
from pathlib import Path

import numpy as np
import pytest

from assignment import word_vectors
from grader.known_bugs import bug_named, make_variant

ROOT = Path(__file__).parent.parent


def run(*arguments: str) -> subprocess.CompletedProcess:
    command = [sys.executable, "-m", "assignment.word_vectors", *arguments]
    environment = {"PATH": "/usr/bin:/bin", "OPENBLAS_NUM_THREADS": "1"}
    return subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True)


def timeless(text: str) -> str:
    return re.sub(r"in [\d.]+ s", "in _ s", text)


def test_the_tour_is_what_the_handout_shows():
    tour = run("--impl", "solution")
    assert tour.returncode == 0, tour.stderr
    handout = (ROOT / "assignment" / "README.md").read_text(encoding="utf-8")
    shown = handout.split("```text\nNearest, by cosine:\n")[1].split("```")[0]
    lines = [line for line in shown.splitlines() if line.strip()]
    assert len(lines) == 5
    assert [line for line in lines if line not in tour.stdout] == []
    assert timeless(run("--impl", "solution").stdout) == timeless(tour.stdout)


def test_words_can_be_asked_about():
    assert run("--impl", "solution", "old", "older", "sweet").stdout == "sweeter\n"
    near = run("--impl", "solution", "thunder").stdout.split()[::2]
    assert {*near[:4]} == {"trumpet", "drum", "loud", "louder"}


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        ([], "Part 9.2 noise_distribution: see README.md §9.2"),
        (["--impl", "solution", "democracy"], "democracy is in no sentence"),
        (["--impl", "solution", "king", "queen"], "give one word, or three"),
    ],
)
def test_what_cannot_be_answered_is_a_sentence(arguments, says):
    result = run(*arguments)
    assert result.returncode != 0
    assert says in result.stderr
    assert "Traceback" not in result.stderr


def test_a_sentence_holds_one_word_of_a_pair_and_its_company():
    corpus = word_vectors.make_corpus(np.random.default_rng(1), n_sentences=300)
    assert corpus.counts.sum() == corpus.sentences.size == 300 * 6
    assert len(set(corpus.words)) == len(corpus.words)
    for sentence in corpus.sentences:
        words = {corpus.words[i] for i in sentence}
        relation, pair = next(
            (r, p) for r in word_vectors.RELATIONS for p in r.topics if words & {*p}
        )
        assert len(words & {*pair}) == 1
        side = 0 if pair[0] in words else 1
        assert {*relation.topics[pair]} < words
        assert len(words & {*relation.sides[side]}) == 2


def learned_share(*bugs: str) -> float:
    """Of the analogies, the share that is answered rightly after training with these bugs."""
    variant = make_variant(bug_named(name) for name in bugs)

    def call(name: str, *arguments):
        return variant.call(name, arguments, {})[0]

    rng = np.random.default_rng(3)
    corpus = word_vectors.make_corpus(rng)
    noise = call("noise_distribution", corpus.counts)
    step = partial(call, "train_step")
    vectors = word_vectors.train(step, corpus, noise, rng)
    asked = np.concatenate([word_vectors.questions(corpus, r) for r in word_vectors.RELATIONS])
    return float(np.mean([call("analogy", vectors, *row[:3]) == row[3] for row in asked.tolist()]))


def test_what_is_said_of_lost_repetitions_is_so():
    """The explanations of these bugs say: from all to nine in ten, and to six in ten."""
    assert learned_share() > 0.97
    assert 0.75 < learned_share("repetitions-lost") < 0.97
    assert 0.3 < learned_share("repetitions-lost-in-each-role") < 0.75
