"""The tables that are better seen, as files."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from reference_model.accounting import (
    GROUPS,
    H100,
    LLAMA31_8B,
    analytic_ops,
    decode_intensity,
    decode_intensity_cap,
    total,
)
from reference_model.laboratory import decoding, one_head, pooling, positions
from reference_model.word2vec import RELATIONS

from .of_words import learned


def write_plots(folder: Path) -> list[Path]:
    """Write every plot as a PNG to `folder`; returns the paths."""
    import matplotlib

    matplotlib.use("Agg")
    from matplotlib import pyplot as plt

    folder.mkdir(parents=True, exist_ok=True)
    style = {
        "axes.spines.top": False,
        "axes.spines.right": False,
        "axes.grid": True,
        "grid.alpha": 0.25,
        "font.size": 10,
        "legend.frameon": False,
    }
    paths = []
    with plt.rc_context(style):
        for name, draw in PLOTS.items():
            figure, axes = plt.subplots(figsize=(6.4, 4), layout="constrained")
            draw(axes)
            paths.append(folder / f"{name}.png")
            figure.savefig(paths[-1], dpi=150)
            plt.close(figure)
    return paths


def _decode_errors(axes: Any) -> None:
    for run, style in zip(decoding.decode_table(), (".-", "o--", ".-"), strict=True):
        axes.semilogy(np.maximum(run.errors, 1e-17), style, fillstyle="none", label=run.name)
    axes.axhline(1e-9, color="grey", linestyle="--", linewidth=1)
    axes.text(0, 1.6e-9, "the tests' tolerance", color="grey", fontsize=9)
    axes.set(
        xlabel="step (0 is the prefill's)",
        ylabel="largest error of the logits",
        title="A decode with a cache against a recompute (L2 §5.3)",
    )
    axes.legend(loc="center right")


def _roofline(axes: Any) -> None:
    from matplotlib.transforms import offset_copy

    intensities = np.logspace(-1, 4, 200)
    roof = np.minimum(H100.flops, intensities * H100.bandwidth) / 1e12
    axes.loglog(intensities, roof, color="black", linewidth=1)
    points = {
        "prefill, 2048 tokens": (analytic_ops(LLAMA31_8B, 1, 2048, 0), "o", -1),
        "decode, batch 1": (analytic_ops(LLAMA31_8B, 1, 1, 2047), "v", 1),
        "decode, batch 64": (analytic_ops(LLAMA31_8B, 64, 1, 2047), "s", -1),
    }
    colours = dict(zip(GROUPS, ("tab:blue", "tab:orange", "tab:green", "tab:red"), strict=False))
    for label, (ops, marker, side) in points.items():
        # Many lie on one spot: each hangs from its dot on the roof by a thread of its length.
        for place, (group, colour) in enumerate(colours.items()):
            work = total(ops[name] for name in GROUPS[group])
            height = min(H100.flops, work.intensity * H100.bandwidth) / 1e12
            away = side * (10 + 10 * place)
            stem = {"arrowstyle": "-", "color": "grey", "linewidth": 0.6}
            axes.annotate(
                "", (work.intensity, height), (0, away), textcoords="offset points", arrowprops=stem
            )
            axes.plot(work.intensity, height, ".", color="black", markersize=4)
            beside = offset_copy(axes.transData, axes.figure, y=away, units="points")
            axes.plot(work.intensity, height, marker, color=colour, transform=beside)
        axes.plot([], [], marker, color="grey", label=label)
    for group, colour in colours.items():
        axes.plot([], [], color=colour, linewidth=4, label=group)
    axes.set(
        xlabel="FLOP per byte",
        ylabel="TFLOP/s at most",
        title="Llama-3.1-8B under the H100's roof (L2 §4.5)",
    )
    axes.legend(fontsize=8, loc="lower right")


def _batches(axes: Any) -> None:
    batches = 2 ** np.arange(0, 13)
    for context in (1024, 4096, 16384):
        values = [decode_intensity(LLAMA31_8B, int(batch), context) for batch in batches]
        (line,) = axes.loglog(batches, values, label=f"context {context:,}")
        cap = decode_intensity_cap(LLAMA31_8B, context)
        axes.axhline(cap, color=line.get_color(), linestyle=":", linewidth=1)
    axes.axhline(H100.ridge, color="black", linewidth=1)
    axes.text(1, H100.ridge * 1.1, "ridge of an H100: 295", fontsize=9)
    axes.set(
        xlabel="batch",
        ylabel="FLOP per byte of a decode step",
        title="A batch shares the weights, not the cache (L2 §5.6)",
    )
    axes.legend()


def _saturation(axes: Any) -> None:
    rows = one_head.saturation_table()
    for scaled, label in ((False, "unscaled"), (True, "divided by sqrt(d)")):
        dims = [row.dim for row in rows if row.scaled == scaled]
        axes.semilogx(
            dims,
            [r.largest_weight for r in rows if r.scaled == scaled],
            marker="o",
            base=2,
            label=label,
        )
    axes.set(
        xlabel="d",
        ylabel="largest of 64 weights",
        ylim=(0, 1),
        title="Without the scale, softmax picks one key (L2 §2.4)",
    )
    axes.legend()


def _previous_token(axes: Any) -> None:
    image = axes.imshow(positions.previous_token_weights(), cmap="Blues", vmin=0, vmax=1)
    axes.grid(visible=False)
    axes.set(
        xlabel="key position",
        ylabel="query position",
        title="A head that looks one token back, by RoPE alone (L2 §2.7)",
    )
    axes.figure.colorbar(image, ax=axes, label="weight")


def _pooling(axes: Any) -> None:
    results = pooling.pooling_table()
    for n_kv_heads in sorted({result.n_kv_heads for result in results}, reverse=True):
        of = [result for result in results if result.n_kv_heads == n_kv_heads]
        axes.plot(
            [r.correlation for r in of],
            [r.kl for r in of],
            marker="o",
            label=f"8 heads to {n_kv_heads}",
        )
    axes.set(
        xlabel="correlation of the heads in a group",
        ylabel="KL divergence, nats",
        title="What mean pooling loses without training (L2 §6.3)",
    )
    axes.legend()


def _word_directions(axes: Any) -> None:
    corpus, vectors = learned()
    pairs = RELATIONS[0].pairs
    both = vectors[np.array([[corpus.number(word) for word in pair] for pair in pairs])]
    direction = (both[:, 1] - both[:, 0]).mean(axis=0)
    along = both @ (direction / np.linalg.norm(direction))
    for height, ((left, right), words) in enumerate(zip(along, pairs, strict=True)):
        axes.plot([left, right], [height, height], color="tab:blue", marker="o", alpha=0.7)
        beside = {"fontsize": 8, "va": "center", "textcoords": "offset points"}
        axes.annotate(words[0], (left, height), ha="right", xytext=(-6, 0), **beside)
        axes.annotate(words[1], (right, height), xytext=(6, 0), **beside)
    axes.margins(x=0.2)
    axes.set_yticks([])
    axes.set(
        xlabel="along the mean difference vector", title="One direction for ten pairs (L2 §1.6)"
    )


PLOTS: dict[str, Callable[[Any], None]] = {
    "decode-errors": _decode_errors,
    "roofline": _roofline,
    "batched-decode": _batches,
    "saturation": _saturation,
    "previous-token-head": _previous_token,
    "mean-pooling": _pooling,
    "word-directions": _word_directions,
}
