"""Part 12: many requests, one cache: each gets the logits that it would get alone.

Rows of different length are packed one behind the other, (1, N, d), and not padded: everything but
attention treats each token alone, and attention runs row by row over what the row's sequence holds.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from .attention import causal_mask
from .gqa import grouped_query_attention
from .paged_cache import PagedKVCache
from .rope import apply_rope
from .transformer import Transformer


### BEGIN SOLUTION
def _run(
    model: Transformer, rows: Sequence[np.ndarray], cache: PagedKVCache, sequences: Sequence[int]
) -> tuple[np.ndarray, np.ndarray]:
    """Run each row behind what its sequence holds; all states (N, d), and where each row ends."""
    starts = [cache.length(sequence) for sequence in sequences]
    ends = np.cumsum([len(row) for row in rows])
    packed = [slice(end - len(row), end) for row, end in zip(rows, ends, strict=True)]
    positions = np.concatenate(
        [np.arange(start, start + len(row)) for row, start in zip(rows, starts, strict=True)]
    )
    x = model.embed(np.concatenate(rows)[None])
    for layer in range(model.config.n_layers):
        q, k, v = model.project_qkv(layer, x)
        q = apply_rope(q, positions, model.config.rope_theta)
        k = apply_rope(k, positions, model.config.rope_theta)
        heads = np.empty_like(q)
        for row, sequence in zip(packed, sequences, strict=True):
            cache.append(layer, sequence, k[0, :, row], v[0, :, row])
            keys, values = cache.read(layer, sequence)
            mask = causal_mask(row.stop - row.start, keys.shape[1])
            heads[:, :, row] = grouped_query_attention(q[:, :, row], keys[None], values[None], mask)
        x = model.add_mlp(layer, model.add_attention(layer, x, heads))
    return x[0], ends


### END SOLUTION
def ragged_prefill(
    model: Transformer, rows: Sequence[np.ndarray], cache: PagedKVCache, sequences: Sequence[int]
) -> np.ndarray:
    """Run prompts of different length, append their keys and values, return each one's last logits.

    A sequence that already holds positions is continued: the first token of its row takes position
    cache.length(sequence), so a long prompt can be read in chunks. Whatever a batch is made of, no
    row sees another's tokens, nor any padding.

    Args:
        rows: int (T_i,), T_i >= 1, one for each of `sequences`.
        sequences: R different numbers that `cache` gave.

    Returns:
        Logits (R, V).

    Raises:
        ValueError: the cache has too few free blocks.

    Source: Yu et al. 2022 §4 (selective batching); Agrawal et al. 2023 §4 (chunked prefill).
    """
    ### BEGIN SOLUTION
    x, ends = _run(model, rows, cache, sequences)
    return model.logits(x[ends - 1])
    ### END SOLUTION


def ragged_decode_step(
    model: Transformer, tokens: np.ndarray, cache: PagedKVCache, sequences: Sequence[int]
) -> np.ndarray:
    """Run one new token of each sequence, whatever its length: positions differ from row to row.

    Args:
        tokens: int (R,), row r at position cache.length(sequences[r]).
        sequences: R different numbers that `cache` gave.

    Returns:
        Logits (R, V) for the tokens after them.

    Raises:
        ValueError: the cache has too few free blocks.

    Source: Yu et al. 2022 §4.
    """
    ### BEGIN SOLUTION
    return ragged_prefill(model, list(tokens[:, None]), cache, sequences)
    ### END SOLUTION


def speculative_step(
    model: Transformer, token: int, draft: np.ndarray, cache: PagedKVCache, sequence: int
) -> list[int]:
    """Check a draft of k tokens in one forward, keep what greedy decode would have made.

    Args:
        token: the newest token of the sequence, not yet in the cache.
        draft: int (k,), k >= 1: what somebody guesses to come after it.

    Returns:
        The tokens that greedy decode makes after `token`: those of the draft up to the first wrong
        one, and the one that belongs behind them; 1 to k + 1. The cache then holds all but the last
        of them, `token` included, and nothing of the draft that was wrong.

    Raises:
        ValueError: the cache has too few free blocks for 1 + k positions.

    Source: Leviathan et al. 2023 §2; Stern et al. 2018 §3.
    """
    ### BEGIN SOLUTION
    start = cache.length(sequence)
    x, _ = _run(model, [np.array([token, *draft])], cache, [sequence])
    greedy = model.logits(x).argmax(axis=-1)
    wrong = np.flatnonzero(greedy[:-1] != draft)
    n_right = int(wrong[0]) if wrong.size else len(draft)
    cache.truncate(sequence, start + 1 + n_right)
    return greedy[: n_right + 1].tolist()
    ### END SOLUTION


### BEGIN SOLUTION
@dataclass
class _Request:
    """The prompt and the tokens made so far; `sequence` is -1 while it waits or has ended."""

    text: list[int]
    n_prompt: int
    max_new_tokens: int
    eos: int | None
    sequence: int = -1


### END SOLUTION
class Engine:
    """Greedy decoding of many requests that come and go, step by step (continuous batching).

    Attributes:
        running: numbers of the requests that hold blocks, in the order of their admission.
        waiting: numbers of those that do not, first in line first.

    Source: Yu et al. 2022 §3-4; Kwon et al. 2023 §4.5; Agrawal et al. 2023 §4.
    """

    def __init__(
        self, model: Transformer, cache: PagedKVCache, token_budget: int, max_running: int
    ) -> None:
        """An engine without requests; `cache` is empty and used by nobody else.

        Args:
            token_budget: how many tokens a step runs through the model at most.
            max_running: how many requests run at the same time at most.

        Raises:
            ValueError: token_budget is less than max_running, so that not all could decode.
        """
        ### BEGIN SOLUTION
        if token_budget < max_running:
            raise ValueError(f"{max_running} requests cannot decode with {token_budget} tokens")
        self._model, self._cache = model, cache
        self._budget, self._max_running = token_budget, max_running
        self._n_blocks = cache.n_free
        self._requests: list[_Request] = []
        self.running: list[int] = []
        self.waiting: list[int] = []
        ### END SOLUTION

    def submit(self, prompt: np.ndarray, max_new_tokens: int, eos: int | None = None) -> int:
        """Put a request at the end of the line; its number: 0, 1, 2, …

        Args:
            prompt: int (T,), T >= 1.
            max_new_tokens: it ends with that many tokens made, 1 or more, ...
            eos: ... or with this token, which counts as made.

        Raises:
            ValueError: even alone it would not fit into the cache.
        """
        ### BEGIN SOLUTION
        # The last token that is made is never run.
        n_positions = len(prompt) + max_new_tokens - 1
        if n_positions > self._n_blocks * self._cache.block_size:
            raise ValueError(f"{n_positions} positions never fit into {self._n_blocks} blocks")
        request = _Request([int(t) for t in prompt], len(prompt), max_new_tokens, eos)
        self._requests.append(request)
        self.waiting.append(len(self._requests) - 1)
        return self.waiting[-1]
        ### END SOLUTION

    def tokens(self, request: int) -> list[int]:
        """The tokens made for a request so far, also after its end."""
        ### BEGIN SOLUTION
        return self._requests[request].text[self._requests[request].n_prompt :]
        ### END SOLUTION

    def cancel(self, request: int) -> None:
        """End a request that is running or waiting; its blocks are free at once.

        Raises:
            ValueError: it has ended.
        """
        ### BEGIN SOLUTION
        if request in self.waiting:
            self.waiting.remove(request)
        else:
            self._stop(request)
        ### END SOLUTION

    def fork(self, request: int, token: int) -> int:
        """A second request with the same text, but `token` in place of the newest one.

        It runs from now on as the last admitted, ends as the first one would, and shares the blocks
        of what both have read.

        Raises:
            ValueError: the request is not running or has made no token yet, or max_running are
                running.
        """
        ### BEGIN SOLUTION
        if request not in self.running or not self.tokens(request):
            raise ValueError(f"request {request} is not decoding")
        if len(self.running) == self._max_running:
            raise ValueError(f"{self._max_running} requests are running")
        old = self._requests[request]
        sequence = self._cache.fork(old.sequence)
        text = [*old.text[:-1], int(token)]
        self._requests.append(_Request(text, old.n_prompt, old.max_new_tokens, old.eos, sequence))
        self.running.append(len(self._requests) - 1)
        return self.running[-1]
        ### END SOLUTION

    def step(self) -> tuple[list[int], np.ndarray]:
        """Run the model once; each request whose whole text has been read makes a token (argmax).

        What is run is chosen in this order, and never more than token_budget tokens:

        1. each running request with one token left to read, which most have: that token;
        2. each other running one, in the order of admission: its next chunk, as much as is left of
           the budget;
        3. while budget is left, fewer than max_running run, nobody was preempted in this step, and
           the blocks that are still free hold its whole text: the first in line is admitted, with
           its first chunk.

        Where blocks run out in 1 or 2, the youngest (the last admitted) is preempted until they
        suffice: its blocks are free, it goes to the head of the line, and once it is admitted again
        its prompt and the tokens that it has made are read anew. Who ends gives its blocks back in
        the same step.

        Returns:
            The requests that made a token, and the logits (R, V) that each made it by.
        """
        ### BEGIN SOLUTION
        plan = self._plan()
        if not plan:
            return [], np.empty((0, self._model.config.vocab_size))
        sequences = [self._requests[number].sequence for number in plan]
        rows = [np.array(self._left(number)[:count]) for number, count in plan.items()]
        logits = ragged_prefill(self._model, rows, self._cache, sequences)
        done = [place for place, number in enumerate(plan) if not self._left(number)]
        makers = [list(plan)[place] for place in done]
        for number, token in zip(makers, logits[done].argmax(axis=-1).tolist(), strict=True):
            request = self._requests[number]
            request.text.append(token)
            if token == request.eos or len(self.tokens(number)) == request.max_new_tokens:
                self._stop(number)
        return makers, logits[done]
        ### END SOLUTION

    ### BEGIN SOLUTION
    def _plan(self) -> dict[int, int]:
        """How many tokens of which request the next step runs; admits and preempts."""
        plan: dict[int, int] = {}
        n_running = len(self.running)
        for is_decode in (True, False):
            for number in list(self.running):
                if number in self.running and (len(self._left(number)) == 1) == is_decode:
                    self._add_or_preempt(plan, number)
        if len(self.running) < n_running:
            return plan
        while self.waiting and len(self.running) < self._max_running and self._budget_left(plan):
            number, sequence = self.waiting[0], self._cache.add()
            self._requests[number].sequence = sequence
            if self._blocks(plan | {number: len(self._left(number))}) > self._cache.n_free:
                self._cache.free(sequence)
                self._requests[number].sequence = -1
                break
            self.running.append(self.waiting.pop(0))
            plan[number] = min(self._budget_left(plan), len(self._left(number)))
        return plan

    def _add_or_preempt(self, plan: dict[int, int], number: int) -> None:
        count = min(self._budget_left(plan), len(self._left(number)))
        if not count:
            return
        while self._blocks(plan | {number: count}) > self._cache.n_free:
            youngest = self.running[-1]
            plan.pop(youngest, None)
            self._stop(youngest)
            self.waiting.insert(0, youngest)
            if youngest == number:
                return
        plan[number] = count

    def _blocks(self, plan: dict[int, int]) -> int:
        return sum(
            self._cache.blocks_needed(self._requests[number].sequence, count)
            for number, count in plan.items()
        )

    def _budget_left(self, plan: dict[int, int]) -> int:
        return self._budget - sum(plan.values())

    def _left(self, number: int) -> list[int]:
        """The tokens of its text that a running request has not read yet."""
        request = self._requests[number]
        return request.text[self._cache.length(request.sequence) :]

    def _stop(self, number: int) -> None:
        """Take it from those that run, and give its blocks back."""
        self.running.remove(number)  # ValueError where it does not run
        self._cache.free(self._requests[number].sequence)
        self._requests[number].sequence = -1

    ### END SOLUTION
