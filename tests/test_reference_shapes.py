"""The reference's shapes are checked types: what its annotations say holds in every call.

A copy of the package is imported here with a check around each function; other tests and the
product run without.
"""

from __future__ import annotations

import importlib
import sys
from types import ModuleType, SimpleNamespace

import numpy as np
import pytest

jaxtyping = pytest.importorskip("jaxtyping")
pytest.importorskip("beartype")

PACKAGE = "reference_model"
SIZES = {"name": "tiny", "n_layers": 2, "d_model": 12, "n_heads": 4, "d_ff": 10, "vocab_size": 13}
LLAMA = SIZES | {"n_kv_heads": 2, "head_dim": 6}
MLA = SIZES | {"latent_dim": 5, "nope_dim": 4, "rope_dim": 2, "v_dim": 3, "query_latent_dim": 7}


def _taken_out() -> dict[str, ModuleType]:
    """The package's modules, which the next import then makes anew."""
    names = [name for name in sys.modules if name.partition(".")[0] == PACKAGE]
    return {name: sys.modules.pop(name) for name in names}


@pytest.fixture(scope="module")
def reference() -> SimpleNamespace:
    """reference_model with checked calls, and parts of it that the package itself does not name."""
    unchecked = _taken_out()
    try:
        with jaxtyping.install_import_hook(PACKAGE, "beartype.beartype"):
            package = importlib.import_module(PACKAGE)
            parts = {
                name.rpartition(".")[2]: importlib.import_module(f"{PACKAGE}.{name}")
                for name in ("laboratory.positions", "word2vec.analogies", "word2vec.learning")
            }
    finally:
        _taken_out()
        sys.modules.update(unchecked)
    return SimpleNamespace(**{**vars(package), **parts})


def numbers(*shape: int) -> np.ndarray:
    return np.random.default_rng(0).standard_normal(shape)


TOKENS = np.array([[1, 2, 3, 4], [5, 6, 7, 8]])


@pytest.mark.parametrize("rows", ["", "one for each"], ids=["positions (T,)", "positions (B,T)"])
@pytest.mark.parametrize("last_only", [False, True])
@pytest.mark.parametrize("kind", ["llama", "mla"])
def test_whole_models_keep_to_their_shapes(reference, kind, last_only, rows):
    config = reference.as_config(LLAMA if kind == "llama" else MLA)
    params = getattr(reference, f"init_{kind}")(config, seed=0)
    positions = np.arange(4) + 3
    positions = np.stack([positions, positions + 1]) if rows else positions
    logits = getattr(reference, f"{kind}_logits")(config, params, TOKENS, positions, last_only)
    assert logits.shape == (2, 1 if last_only else 4, 13)
    assert reference.decode_trace(config, params, TOKENS, TOKENS[:, :3]).shape == (4, 2, 13)
    assert reference.greedy_continuation(config, params, TOKENS, 2).shape == (2, 2)


def test_the_other_functions_keep_to_their_shapes(reference):
    x, w = numbers(2, 5, 12), numbers(12, 12)
    reference.multi_head_attention(x, w, w, w, w, 4)
    reference.mean_pool_kv_heads(w, 4, 2)
    for filtered in (
        reference.temperature(numbers(2, 9), 0.7),
        reference.top_k(numbers(9), 3),
        reference.top_p(numbers(2, 3, 9), 0.9),
    ):
        reference.softmax(filtered)
    reference.positions.relative_scores()
    reference.learning.noise_distribution(np.array([4, 2, 1]))
    pair = numbers(6), numbers(6), numbers(3, 6)
    assert reference.learning.loss(*pair) > 0
    assert [part.shape for part in reference.learning.gradients(*pair)] == [(6,), (6,), (3, 6)]
    assert reference.analogies.nearest(numbers(8, 6), numbers(6), 3).shape == (3,)


WRONG = {
    "keys of another width": lambda r: r.attention(numbers(5, 6), numbers(4, 7), numbers(4, 6)),
    "values without their keys": lambda r: r.attention(numbers(5, 6), numbers(4, 6), numbers(3, 6)),
    "a mask of numbers": lambda r: r.attention(*numbers(3, 5, 6), numbers(5, 5)),
    "a mask of another length": lambda r: r.attention(*numbers(3, 5, 6), r.causal_mask(4, 4)),
    "heads before they are split": lambda r: r.merge_heads(numbers(2, 5, 12)),
    "a norm's weight of another width": lambda r: r.rmsnorm(numbers(2, 3), numbers(4), 1e-5),
    "text for logits": lambda r: r.softmax(np.array(["a", "b"])),
    "positions that are no integers": lambda r: r.rope(numbers(5, 6), np.arange(5.0)),
    "one row of tokens": lambda r: r.llama_logits(
        LLAMA, r.init_llama(r.as_config(LLAMA), seed=0), TOKENS[0]
    ),
    "negatives of another width": lambda r: r.learning.loss(numbers(6), numbers(6), numbers(3, 5)),
}


@pytest.mark.parametrize("wrong", WRONG)
def test_a_wrong_shape_or_type_is_refused(reference, wrong):
    with pytest.raises(jaxtyping.TypeCheckError):
        WRONG[wrong](reference)


def test_the_product_runs_without_the_check():
    import reference_model

    with pytest.raises(ValueError, match="queries are 6 wide but keys 7"):
        reference_model.attention(numbers(5, 6), numbers(4, 7), numbers(4, 7))


def test_without_jaxtyping_the_types_are_names_only(monkeypatch):
    from reference_model import shapes

    monkeypatch.setattr("importlib.util.find_spec", lambda name: None)
    again = importlib.util.module_from_spec(shapes.__spec__)
    shapes.__spec__.loader.exec_module(again)
    assert again.Float64 is None
