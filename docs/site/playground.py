"""The playground's pages, and the reference's values for the functions that move in them.

A page is its texts (playground/texts.toml, both languages) and its script; `golden` is written
beside them, so that each page compares its functions with `reference_model` where it is opened.
"""

import html
import json
import shutil
import tomllib
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from reference_model import accounting, layers, sampling
from reference_model.accounting import CountedModel
from reference_model.config import ModelConfig, param_shapes
from reference_model.laboratory.decoding import ForgottenAppend, PositionZero
from reference_model.llama import llama_logits

FOLDER = Path(__file__).resolve().parent / "playground"
TEXTS = "docs/site/playground/texts.toml"
LANGUAGES = ("en", "zh-Hans")
GOLDEN = "play-golden.js"
NOTES = ("do", "re", "mi", "fa", "sol", "la", "ti", "do'")
TUNE = ModelConfig("tune", 2, 32, 2, 1, 16, 8, len(NOTES), 1e6)
PROMPT, CONTINUATION = [0, 1, 2, 3, 0, 1], [2, 3, 0, 1, 2]


@dataclass(frozen=True)
class Topic:
    """One page in one language."""

    name: str
    language: str
    parts: tuple[int, ...]  # of the handout
    title: str
    lead: str
    html: str

    @property
    def address(self) -> str:
        return f"play-{self.name}{'' if self.language == 'en' else '.zh'}.html"


def topics(folder: Path = FOLDER) -> list[Topic]:
    """All pages in their order, English first."""
    table = tomllib.loads((folder / "texts.toml").read_text(encoding="utf-8"))
    shared = table.pop("shared")
    return [
        _topic(name, entry, shared, place)
        for name, entry in table.items()
        for place in range(len(LANGUAGES))
    ]


def _topic(name: str, entry: dict, shared: dict, place: int) -> Topic:
    words = {key: pair[place] for key, pair in (shared | entry["words"]).items()}
    title, lead = entry["title"][place], entry["lead"][place]
    scripts = [GOLDEN, "play-maths.js", "play-board.js", f"play-{name}.js"]
    page = [
        f'<h1 id="{name}">{html.escape(title)}</h1>',
        f'<p class="lead">{html.escape(lead)}</p>',
        '<div id="board" class="board"></div>',
        f"<noscript><p>{html.escape(words['noscript'])}</p></noscript>",
        '<p id="checked" class="small muted"></p>',
        f"<script>window.playTexts = "
        f"{json.dumps(words, ensure_ascii=False).replace('<', chr(92) + 'u003c')};</script>",
        *(f'<script src="{script}"></script>' for script in scripts),
    ]
    return Topic(name, LANGUAGES[place], tuple(entry["parts"]), title, lead, "\n".join(page))


def write(out: Path) -> None:
    """The scripts of all pages, and the reference's values, into the site's folder."""
    for script in FOLDER.glob("*.js"):
        shutil.copyfile(script, out / f"play-{script.name}")
    text = json.dumps(golden(), separators=(",", ":"))
    (out / GOLDEN).write_text(f"window.playGolden = {text};\n", encoding="utf-8")


def golden() -> dict:
    """Models and machines, and cases: a function's name in maths.js, its arguments, its value.

    "MODEL" in arguments stands for the small model, null for -inf.
    """
    config, params = TUNE, tune_params()
    models = (accounting.LLAMA2_7B, accounting.LLAMA31_8B, accounting.LLAMA31_70B)
    return {
        "notes": NOTES,
        "prompt": PROMPT,
        "model": {"config": config.to_dict(), "params": {k: v.tolist() for k, v in params.items()}},
        "models": [c.to_dict() for c in (*models, accounting.LLAMA31_405B)],
        "latent": accounting.DEEPSEEK_V3_ATTENTION.to_dict(),
        "hardware": [vars(h) for h in (accounting.A100, accounting.H100, accounting.H200)],
        "cases": [
            {"call": call, "of": of, "args": _plain(arguments), "value": _plain(value)}
            for call, of, arguments, value in (
                *_attention_cases(),
                *_decode_cases(params),
                *_account_cases(),
                *_sampling_cases(),
            )
        ],
    }


def tune_params() -> dict[str, np.ndarray]:
    """A model that goes on with a tune it has heard: weights set by hand, with a little noise.

    Layer 0 looks one note back (RoPE's fast pairs) and notes down which note that was; layer 1
    looks for what came after this note before (in the slow pairs) and says that.
    """
    codes = np.array([[1, 1], [1, -1]])
    codes = np.kron(np.kron(codes, codes), codes) / np.sqrt(8)  # eight notes, orthogonal
    here, before, after, always = slice(0, 8), slice(8, 16), slice(16, 24), 24
    fast, slow = [0, 2, 4], slice(8, 16)
    rng = np.random.default_rng(0)
    p = {
        name: np.ones(shape) if name.endswith("norm") else 0.04 * rng.standard_normal(shape)
        for name, shape in param_shapes(TUNE).items()
    }
    p["embedding"][:, here] += codes
    p["embedding"][:, always] += 1
    p["layers.0.w_k"][always, fast] += 1.6
    back = layers.rope(np.eye(TUNE.head_dim)[fast].sum(0)[None], np.array([-1]), TUNE.rope_theta)[0]
    p["layers.0.w_q"][always, :16] += 2.2 * back
    p["layers.0.w_v"][here, :8] += np.eye(8)
    p["layers.0.w_o"][:8, before] += np.eye(8)
    p["layers.1.w_q"][here, slow] += 4 * np.eye(8)
    p["layers.1.w_k"][before, slow] += 4 * np.eye(8)
    p["layers.1.w_v"][here, :8] += np.eye(8)
    p["layers.1.w_o"][:8, after] += 2 * np.eye(8)
    p["lm_head"][after] += 2 * codes.T
    return {name: value.round(4) for name, value in p.items()}


class MaskTopLeft(CountedModel):
    """Takes the queries for the first positions instead of the last ones."""

    def _attend(self, q: np.ndarray, keys: np.ndarray, values: np.ndarray) -> np.ndarray:
        return layers.grouped_query_attention(
            q, keys, values, np.tri(q.shape[2], keys.shape[2], dtype=bool)
        )


def _attention_cases():
    q, k, v = [[0, 1], [1, 1], [1, 0]], [[1, 0], [0, 1], [1, 1]], [[10, 0], [0, 10], [5, 5]]
    mask = layers.causal_mask(3, 3)
    options = {"scale": False, "temperature": 0.5}
    yield "softmax", None, [[2, 1, 0]], layers.softmax([2, 1, 0])
    yield "softmax", None, [[1000, 999, -np.inf]], layers.softmax([1000, 999, -np.inf])
    yield "causalMask", None, [3, 7], layers.causal_mask(3, 7)
    yield "attention", "out", [q, k, v, mask], layers.attention(q, k, v, mask)
    yield "attention", "weights", [q, k, v, mask], layers.attention_weights(q, k, mask)
    hot = layers.attention(np.array(q) * np.sqrt(2) / 0.5, k, v)
    yield "attention", "out", [q, k, v, None, options], hot
    x = np.random.default_rng(1).standard_normal((3, 8)).round(3)
    for theta in (10000, 500000):
        yield "ropeFrequencies", None, [8, theta], layers.rope_frequencies(8, theta)
        yield (
            "rope",
            None,
            [x, [0, 7, 10005], theta],
            layers.rope(x, np.array([0, 7, 10005]), theta),
        )
    order = [0, 4, 1, 5, 2, 6, 3, 7]  # halves are neighbours in another order
    turned = np.empty_like(x)
    turned[:, order] = layers.rope(x[:, order], np.array([1, 2, 30]))
    yield "rope", None, [x, [1, 2, 30], 10000, True], turned
    yield "rmsnorm", None, [x, x[0], 1e-5], layers.rmsnorm(x, x[0], 1e-5)
    w = np.random.default_rng(2).standard_normal((3, 8, 8)).round(3)
    yield "swiglu", None, [x, *w], layers.swiglu(x, *w)


def _decode_cases(params):
    tokens = np.array([PROMPT + CONTINUATION])
    expected = llama_logits(TUNE, params, tokens)[0, len(PROMPT) - 1 :]
    yield "decodeLogits", None, ["MODEL", [PROMPT], CONTINUATION], expected
    yield "decodeLogits", None, ["MODEL", [PROMPT[:4], PROMPT[4:]], CONTINUATION], expected
    kinds = {"position": PositionZero, "append": ForgottenAppend, "mask": MaskTopLeft}
    for bug, kind in kinds.items():
        for chunks in ([PROMPT], [PROMPT[:4], PROMPT[4:]]):
            model = kind(TUNE, params)
            passes = [*chunks, *([token] for token in CONTINUATION)]
            logits = [model.forward(np.array([p]), last_only=True)[0, 0] for p in passes]
            arguments = ["MODEL", chunks, CONTINUATION, bug]
            yield "decodeLogits", None, arguments, logits[len(chunks) - 1 :]


def _account_cases():
    for c in (accounting.SMALL, accounting.LLAMA31_8B, accounting.LLAMA31_405B):
        plain = c.to_dict()
        yield "nParams", None, [plain], c.n_params()
        yield "matmulParams", None, [plain], c.matmul_params()
        yield "kvBytesPerToken", None, [plain, 2], c.kv_bytes_per_token()
        for new, past in ((5, 0), (3, 4), (1, 4095)):
            work = accounting.total(accounting.analytic_ops(c, 2, new, past).values())
            yield "forwardFlops", None, [plain, 2, new, past], work.useful_flops
        for size in (2, 1):
            intensity = accounting.decode_intensity(c, 64, 4096, size)
            yield "decodeIntensity", None, [plain, 64, 4096, size], intensity
        yield "decodeCap", None, [plain, 4096], accounting.decode_intensity_cap(c, 4096)
        yield "prefillIntensity", None, [plain, 2048], accounting.prefill_intensity(c, 2048)
        seconds = accounting.decode_step_seconds(c, 64, 4096, accounting.H100)
        yield "decodeSeconds", None, [plain, 64, 4096, vars(accounting.H100)], seconds
    latent = accounting.DEEPSEEK_V3_ATTENTION
    for groups in (128, 8, 1):
        core = accounting.gqa_core(128, groups, 128, 128, 32768)
        yield "gqaCore", None, [128, groups, 128, 128, 32768], (core.flops, core.cache_bytes)
    for call, account in (
        ("mlaAbsorbedCore", accounting.mla_absorbed_core),
        ("mlaExpandedCore", accounting.mla_expanded_core),
    ):
        core = account(latent, 32768)
        yield call, None, [latent.to_dict(), 32768], (core.flops, core.cache_bytes)


def _sampling_cases():
    logits = [0.1, 3, 2, -1, 2, 1.5]
    yield "temperature", None, [logits, 0.7], sampling.temperature(logits, 0.7)
    for k in (1, 2, 4, 9):
        yield "topK", None, [logits, k], sampling.top_k(logits, k)
    for p in (0.1, 0.7, 0.95, 1):
        yield "topP", None, [logits, p], sampling.top_p(logits, p)
    peaked = [800, 0, 0, -800]  # probabilities that round to 0 are never drawn
    yield "topP", None, [peaked, 1], sampling.top_p(peaked, 1)


def _plain(value):
    """For JSON: numpy's arrays as lists, -inf as null."""
    if isinstance(value, dict):
        return value
    if isinstance(value, list | tuple | np.ndarray):
        return [_plain(item) for item in value]
    if isinstance(value, np.bool_):
        return bool(value)
    if isinstance(value, float | np.floating):
        return None if value == -np.inf else float(value)
    return int(value) if isinstance(value, np.integer) else value
