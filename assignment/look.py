"""GIVEN: your own functions on a real trained model, SmolLM2-135M, as one page to look at.

    python -m assignment.look "The cat sat on the mat. The cat sat on the"
    python -m assignment.look "..." --compare older      beside another package with the functions
    python -m assignment.look "..." --tiny               a small random model: no download

The page needs no network: attention of every layer and head, the next tokens' probabilities, the
cache as it grows, and milliseconds a token. Parts that are not done are left out, and it says so.
"""

from __future__ import annotations

import argparse
import contextlib
import importlib
import importlib.util
import json
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np

from . import smollm2
from .chat import _place
from .harness.page.look import Language, Seen, look_page
from .harness.words import LANGUAGES, speak, tr
from .transformer import ModelConfig, Transformer

TEXT = "The cat sat on the mat. The cat sat on the"
MAX_TOKENS = 96  # A head's picture has tokens² cells, and the page holds them all.
N_LENGTHS, RECOMPUTE_SECONDS, N_LIKELIEST = 10, 20.0, 6
MODULES = ("attention", "rope", "gqa", "kv_cache")
NAME = "grouped_query_attention"

Tokens = list[int]
Attempt = Callable[[], Any]


class Recorder:
    """Takes attention where it is made: `grouped_query_attention` with the identity as values.

    Row t of softmax(q kᵀ) I is the attention of query t itself. The name is replaced in each of
    the package's modules that has it, so a loop that calls it by name is seen at work.
    """

    def __init__(self, modules: dict[str, ModuleType]) -> None:
        self._modules, self._own = modules, getattr(modules["gqa"], NAME)
        self.weights: list[np.ndarray] = []
        self.problem = ""  # what the identity met that the loop's own values did not

    def __call__(
        self, q: np.ndarray, k: np.ndarray, v: np.ndarray, *rest: Any, **named: Any
    ) -> Any:
        heads = self._own(q, k, v, *rest, **named)
        n_keys = k.shape[-2]
        identity = np.broadcast_to(np.eye(n_keys, dtype=q.dtype), (*k.shape[:-1], n_keys))
        try:
            self.weights.append(np.array(self._own(q, k, identity, *rest, **named)[0]))
        except Exception as error:
            self.problem = f"{type(error).__name__}: {error}"
        return heads

    @contextlib.contextmanager
    def at_work(self) -> Iterator[Recorder]:
        """Records until the block ends."""
        self.weights = []
        held = [m for m in self._modules.values() if getattr(m, NAME, None) is self._own]
        for module in held:
            setattr(module, NAME, self)
        try:
            yield self
        finally:
            for module in held:
                setattr(module, NAME, self._own)

    def into(self, attention: np.ndarray, first: int) -> int:
        """Write what was recorded into rows `first` and on of (L, H, T, T); the number of calls."""
        if len(self.weights) == len(attention):
            for layer, weights in enumerate(self.weights):
                n_queries = weights.shape[1]
                n_keys = min(weights.shape[2], first + n_queries)
                rows = attention[layer, :, first : first + n_queries]
                rows[..., :n_keys] = weights[..., :n_keys]
        return len(self.weights)


class Observer:
    """Runs the functions of one package on one model."""

    def __init__(self, package: str, model: Transformer) -> None:
        self.model, self.seen = model, Seen(package)
        self.modules = {name: importlib.import_module(f"{package}.{name}") for name in MODULES}
        self.recorder = Recorder(self.modules)
        self.has_loop = self._find_loop()

    def _find_loop(self) -> bool:
        """Whether part 4 is there; else whether this page's own loop can stand in."""
        if self.attempt(lambda: self.prefill([0, 0])) is not None:
            return True
        if self.attempt(lambda: self.plain_loop([0, 0])) is not None:
            self.say(tr("Shown by this page's own loop, without a cache, around what is done."))
        return False

    def function(self, module: str, name: str) -> Callable[..., Any]:
        """A function of the package, as it is called now."""
        found: Callable[..., Any] = getattr(self.modules[module], name)
        return found

    def attempt(self, call: Attempt) -> Any:
        """What the call returns; None where a stub or an error ends it, and a note says which."""
        try:
            return call()
        except NotImplementedError as stub:
            note = tr("Not there yet: {part}.", part=str(stub))
        except Exception as error:
            what = f"{type(error).__name__}: {error}"
            note = tr("Your code stopped with {what}, {place}.", what=what, place=_place(error))
        self.say(note)
        return None

    def say(self, note: str) -> None:
        """A note for the page, once."""
        if note not in self.seen.notes:
            self.seen.notes.append(note)

    def new_cache(self) -> Any:
        """An empty cache with room for the page's tokens."""
        c = self.model.config
        sizes = (c.n_layers, 1, c.n_kv_heads, MAX_TOKENS, c.head_dim)
        return self.function("kv_cache", "KVCache")(*sizes, self.model.dtype)

    def prefill(self, tokens: Tokens, cache: Any = None) -> Any:
        """The last position's logits (V,), by the package's own loop."""
        cache = self.new_cache() if cache is None else cache
        return self.function("kv_cache", "prefill")(self.model, np.array([tokens]), cache)[0]

    # ---- where part 4 is not there

    def plain_loop(self, tokens: Tokens) -> np.ndarray:
        """Logits (T, V) without a cache: this file's loop around the parts that are done."""
        model, n = self.model, len(tokens)
        x, positions = model.embed(np.array([tokens])), np.arange(n)
        mask = self._done("attention", "causal_mask", tr("no mask: tokens see what comes"), n, n)
        for layer in range(self.model.config.n_layers):
            q, k, v = self.model.project_qkv(layer, x)
            without = tr("no positions: the order of the tokens is not seen")
            theta = model.config.rope_theta
            turned = [
                self._done("rope", "apply_rope", without, y, positions, theta) for y in (q, k)
            ]
            q, k = (y if z is None else z for y, z in zip((q, k), turned, strict=True))
            x = model.add_mlp(layer, model.add_attention(layer, x, self._attend(q, k, v, mask)))
        return np.asarray(model.logits(x)[0])

    def _done(self, module: str, name: str, without: str, *arguments: Any) -> Any:
        try:
            return self.function(module, name)(*arguments)
        except NotImplementedError as stub:
            self.say(tr("Not there yet: {part}. Here: {without}.", part=str(stub), without=without))
            return None

    def _attend(self, q: Any, k: Any, v: Any, mask: Any) -> Any:
        without = tr("each key/value head copied for its queries")
        heads = self._done("gqa", NAME, without, q, k, v, mask)
        if heads is None:
            k, v = (np.repeat(x, q.shape[1] // x.shape[1], axis=1) for x in (k, v))
            one = self.function("attention", "scaled_dot_product_attention")
            heads = one(q, k, v, mask)
            self.recorder.weights.append(one(q, k, np.eye(k.shape[2], dtype=q.dtype), mask)[0])
        return heads

    # ---- what the page shows

    def write(self, prompt: Tokens, n_new: int) -> Tokens:
        """The prompt and the likeliest tokens after it, by whatever loop is there."""
        tokens = list(prompt)
        with contextlib.suppress(Exception):  # what stops is said by look()
            for _ in range(min(n_new, MAX_TOKENS - len(tokens))):
                tokens.append(int(self.next_logits(tokens).argmax()))
        return tokens

    def next_logits(self, tokens: Tokens) -> np.ndarray:
        """(V,) after the last of the tokens, recomputed."""
        found = self.prefill(tokens) if self.has_loop else self.plain_loop(tokens)[-1]
        return np.asarray(found)

    def look(self, tokens: Tokens) -> Seen:
        """Everything there is to see in these tokens."""
        c, seen = self.model.config, self.seen
        shape = (c.n_layers, c.n_heads, len(tokens), len(tokens))
        seen.whole = self.attempt(lambda: self._whole(tokens, np.zeros(shape, np.float32)))
        logits = None
        if self.has_loop:
            self.attempt(lambda: self._decode(tokens, np.zeros(shape, np.float32)))
            logits = self.attempt(lambda: self._timed(tokens)) if seen.cache_bytes else None
            self.attempt(lambda: self._recompute(tokens, logits))
        if logits is None:
            logits = self.attempt(lambda: self._without_decode(tokens))
        seen.logits = logits
        return seen

    def _whole(self, tokens: Tokens, attention: np.ndarray) -> np.ndarray | None:
        run = self.prefill if self.has_loop else self.plain_loop
        with self.recorder.at_work():
            run(tokens)
        return self._complete(attention, self.recorder.into(attention, 0))

    def _complete(self, attention: np.ndarray, calls: int) -> np.ndarray | None:
        if calls == len(attention):
            return attention
        if why := self.recorder.problem:
            self.say(tr("{name} does not take the identity as values: {why}", name=NAME, why=why))
            return None
        self.say(
            tr(
                "The loop called {name} by name {calls} times for {layers} layers, so its "
                "attention cannot be shown.",
                name=NAME,
                calls=calls,
                layers=len(attention),
            )
        )
        return None

    def _decode(self, tokens: Tokens, attention: np.ndarray) -> None:
        cache, calls, seen = self.new_cache(), len(attention), self.seen
        c = self.model.config
        a_token = 2 * c.n_layers * c.n_kv_heads * c.head_dim * self.model.dtype.itemsize
        for n in range(len(tokens)):
            with self.recorder.at_work():
                self._step(tokens, n, cache)
            if calls == len(attention):
                calls = self.recorder.into(attention, n)
            seen.cache_bytes.append(int(cache.length) * a_token)
        seen.steps = self._complete(attention, calls)

    def _step(self, tokens: Tokens, n: int, cache: Any) -> np.ndarray:
        if n == 0:
            return np.asarray(self.prefill(tokens[:1], cache))
        step = self.function("kv_cache", "decode_step")
        return np.asarray(step(self.model, np.array([tokens[n]]), cache)[0])

    def _timed(self, tokens: Tokens) -> np.ndarray:
        cache, logits = self.new_cache(), []
        for n in range(len(tokens)):
            start = time.perf_counter()
            logits.append(self._step(tokens, n, cache))
            self.seen.cached_ms.append((n + 1, 1000 * (time.perf_counter() - start)))
        return np.stack(logits)

    def _recompute(self, tokens: Tokens, logits: np.ndarray | None) -> None:
        began = time.perf_counter()
        for n in np.unique(np.linspace(1, len(tokens), N_LENGTHS).astype(int)).tolist():
            start = time.perf_counter()
            again = self.prefill(tokens[:n])
            self.seen.recompute_ms.append((n, 1000 * (time.perf_counter() - start)))
            if logits is not None:
                self.seen.apart.append((n, float(np.abs(again - logits[n - 1]).max())))
            if time.perf_counter() - began > RECOMPUTE_SECONDS:
                return

    def _without_decode(self, tokens: Tokens) -> np.ndarray:
        if not self.has_loop:
            return self.plain_loop(tokens)
        return np.stack([self.next_logits(tokens[: n + 1]) for n in range(len(tokens))])


# ---- the two models


def smollm2_language() -> Language:
    """SmolLM2-135M, downloaded once."""
    folder = smollm2.fetch()
    from safetensors.numpy import load_file
    from tokenizers import Tokenizer

    config = json.loads((folder / "config.json").read_text(encoding="utf-8"))
    model = Transformer(ModelConfig(**config), load_file(folder / "model.safetensors"))
    tokenizer = Tokenizer.from_file(str(folder / "tokenizer.json"))
    return Language(
        "SmolLM2-135M",
        model,
        lambda text: list(tokenizer.encode(text, add_special_tokens=False).ids),
        lambda token: str(tokenizer.decode([token], skip_special_tokens=False)),
    )


def tiny_language(seed: int = 0) -> Language:
    """A random model of two layers whose tokens are letters: it needs numpy only."""
    c = ModelConfig("tiny", 2, 32, 4, 2, 8, 64, 128, tied=True)
    rng, width, kv = np.random.default_rng(seed), c.n_heads * c.head_dim, c.n_kv_heads * c.head_dim
    params = {"embedding": rng.standard_normal((c.vocab_size, c.d_model))}
    params["final_norm"] = np.ones(c.d_model)
    shapes = {
        "w_q": (c.d_model, width), "w_k": (c.d_model, kv), "w_v": (c.d_model, kv),
        "w_o": (width, c.d_model), "w_gate": (c.d_model, c.d_ff), "w_up": (c.d_model, c.d_ff),
        "w_down": (c.d_ff, c.d_model),
    }  # fmt: skip
    for layer in range(c.n_layers):
        for name, shape in shapes.items():
            w = rng.standard_normal(shape) / np.sqrt(shape[0])
            params[f"layers.{layer}.{name}"] = w
        for name in ("attention_norm", "mlp_norm"):
            params[f"layers.{layer}.{name}"] = np.ones(c.d_model)
    params = {name: array.astype(np.float32) for name, array in params.items()}
    name = tr("a small random model")
    ids = lambda text: [min(ord(sign), 127) for sign in text]  # noqa: E731
    return Language(name, Transformer(c, params), ids, lambda token: chr(token))


# ---- the command


def _arguments(arguments: list[str]) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m assignment.look", description=__doc__)
    parser.formatter_class = argparse.RawDescriptionHelpFormatter
    parser.add_argument("text", nargs="?", default=TEXT, help=f'default: "{TEXT}"')
    parser.add_argument("--impl", default=__package__, help="package with the functions to use")
    parser.add_argument("--compare", metavar="OTHER", help="a second package, to be seen beside it")
    parser.add_argument("--new", type=int, default=8, help="tokens to write after the text (8)")
    parser.add_argument("--tiny", action="store_true", help="a small random model: no download")
    parser.add_argument("--out", type=Path, default=Path("look.html"), help="the page (look.html)")
    parser.add_argument("--lang", choices=LANGUAGES, help="of the page; default: your locale's")
    return parser.parse_args(arguments)


def look_at(language: Language, text: str, packages: list[str], n_new: int) -> str | None:
    """The page; None where not even attention is there. The first package writes the text."""
    encoded = language.encode(text)
    prompt = encoded[:MAX_TOKENS]
    observers = [Observer(package, language.model) for package in packages]
    if len(encoded) > MAX_TOKENS:
        words = tr("The text is longer: its first {n} tokens are shown.", n=MAX_TOKENS)
        observers[0].say(words)
    tokens = observers[0].write(prompt, max(n_new, 0))
    seen = [observer.look(tokens) for observer in observers]
    if all(one.logits is None and one.whole is None for one in seen):
        for note in dict.fromkeys(note for one in seen for note in one.notes):
            print(note, file=sys.stderr)
        return None
    return look_page(language, tokens, len(prompt), seen, N_LIKELIEST)


def main(arguments: list[str]) -> int:
    options = _arguments(arguments)
    speak(options.lang)
    packages = [options.impl, *([options.compare] if options.compare else [])]
    try:
        if not options.text:
            print(tr("There is no text to look at."), file=sys.stderr)
            return 1
        for package in packages:
            if importlib.util.find_spec(package) is None:
                print(tr("There is no package {name} here.", name=package), file=sys.stderr)
                return 1
        language = tiny_language() if options.tiny else smollm2_language()
        page = look_at(language, options.text, packages, options.new)
        if page is None:
            print(tr("There is nothing to look at yet: part 1 comes first."), file=sys.stderr)
            return 1
        options.out.write_text(page, encoding="utf-8", newline="\n")
    except ModuleNotFoundError as missing:
        needs = "pip install gguf safetensors tokenizers"
        print(f"{missing}. {tr('Install what it needs: {needs}', needs=needs)}", file=sys.stderr)
        return 1
    except smollm2.SmolLM2Unavailable as reason:
        print(tr("The real model, SmolLM2-135M, is not here: {why}", why=reason), file=sys.stderr)
        print(tr("With --tiny a small random model takes its place."), file=sys.stderr)
        return 1
    except OSError as problem:
        words = tr("{file} could not be written: {why}", file=options.out, why=problem.strerror)
        print(words, file=sys.stderr)
        return 1
    except Exception as error:
        what = f"{type(error).__name__}: {error}"
        words = tr("Your code stopped with {what}, {place}.", what=what, place=_place(error))
        print(words, file=sys.stderr)
        return 1
    print(tr("Page: {address}", address=options.out.resolve().as_uri()))
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
