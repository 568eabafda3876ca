"""Writes what was measured: a table, a JSON file and a plot."""

from __future__ import annotations

import json
import os
import platform
import subprocess
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import torch
from rich.console import Console
from rich.table import Table

from .measure import ratio


def machine() -> dict[str, Any]:
    """Hardware, versions and how busy the machine is."""
    names = [torch.cuda.get_device_name()] if torch.cuda.is_available() else []
    return {
        "date": datetime.now(UTC).strftime("%Y-%m-%d %H:%M UTC"),
        "cpu": _cpu(),
        "cores": os.cpu_count(),
        "gpu": names,
        "gpu_state": _gpu_state(),
        "cudnn": torch.backends.cudnn.version(),
        "torch": torch.__version__,
        "threads": torch.get_num_threads(),
        "load_average": [round(x, 2) for x in os.getloadavg()],
    }


GPU_QUERY = "driver_version,clocks.sm,clocks.mem,clocks_throttle_reasons.active"


def _gpu_state() -> list[str]:
    """Driver, clocks and reasons for throttling of each GPU, as nvidia-smi says them."""
    command = ["nvidia-smi", f"--query-gpu={GPU_QUERY}", "--format=csv,noheader"]
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=10, check=True)
    except (OSError, subprocess.SubprocessError):
        return []
    return done.stdout.splitlines()


def _cpu() -> str:
    try:
        lines = Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines()
        return next(x.split(":")[1].strip() for x in lines if x.startswith("model name"))
    except (OSError, StopIteration):
        return platform.processor() or platform.machine()


def add_ratios(result: dict[str, Any]) -> None:
    """Beside each time: its ratio to the bound, and to ours of the same dtype."""
    for row in result["contexts"].values():
        for name, entry in row["loops"].items():
            kind = "bf16" if "bf16" in name else "f32"
            ours, bound = (row["loops"].get(f"{what} {kind}") for what in ("ours", "bound"))
            if bound and not name.startswith("bound"):
                entry["share_of_bound"] = ratio(bound, entry)
                entry["share_by_way"] = {
                    way: ratio(passes, entry) for way, passes in bound.get("ways", {}).items()
                }
            if ours:
                entry["times_ours"] = ratio(entry, ours)


def loops_of(result: dict[str, Any]) -> list[str]:
    """The loops that were timed at some context, in the order in which they came."""
    return list({name: None for row in result["contexts"].values() for name in row["loops"]})


def print_tables(result: dict[str, Any]) -> None:
    """ms a token against context; accounts; the lecture's table."""
    console = Console(width=130)
    contexts = sorted(result["contexts"], key=int)
    table = Table(title=f"ms a token, {result['model']} parameters ({result['note']})")
    table.add_column("loop")
    for context in contexts:
        table.add_column(f"S = {context}", justify="right")
    for name in loops_of(result):
        table.add_row(name, *(_cell(result["contexts"][c]["loops"].get(name)) for c in contexts))
    console.print(table)
    console.print("In brackets: × our loop of the same dtype; % of the bound's speed.")
    _print_shares(console, result)
    table = Table(title="Accounts of one token (reference_model.accounting)")
    columns = ("context", "MFLOP cached", "MFLOP recompute", "FLOP ratio", "time ratio")
    for column in (*columns, "KV MB (f32)", "weights MB (f32)"):
        table.add_column(column, justify="right")
    for context, row in result["contexts"].items():
        a = row["account"]
        recompute = row["loops"].get("recompute")
        table.add_row(
            str(context),
            f"{a['flops'] / 1e6:.1f}",
            f"{a['recompute_flops'] / 1e6:.0f}",
            f"{a['recompute_flops'] / a['flops']:.0f}",
            f"{recompute['times_ours']:.0f}" if recompute else "",
            f"{a['kv_bytes'] / 1e6:.1f}",
            f"{a['weight_bytes'] / 1e6:.1f}",
        )
    console.print(table)
    if not result.get("lecture"):
        return
    table = Table(title="L2 §5.4: generate n tokens behind 64, d = 256, 4 layers, float32")
    for column in ("n", "GFLOP without", "with", "ratio", "s without", "s with", "ratio"):
        table.add_column(column, justify="right")
    for row in result["lecture"]:
        table.add_row(
            str(row["new_tokens"]),
            f"{row['flops'] / 1e9:.2f}",
            f"{row['flops_cached'] / 1e9:.3f}",
            f"{row['flop_ratio']:.1f}",
            f"{row['seconds']:.3f}",
            f"{row['seconds_cached']:.3f}",
            f"{row['time_ratio']:.1f}",
        )
    console.print(table)


def _print_shares(console: Console, result: dict[str, Any]) -> None:
    """Ours against each plain product: which is the fastest differs from machine to machine."""
    contexts = sorted(result["contexts"], key=int)
    shares = {c: result["contexts"][c]["loops"] for c in contexts}
    table = Table(
        title="Speed of our loop, as a share of that of plain products over the same bytes"
    )
    table.add_column("ours, product")
    for context in contexts:
        table.add_column(f"S = {context}", justify="right")
    for name in (n for n in loops_of(result) if n.startswith("ours ")):
        for way in next(row[name] for row in shares.values() if name in row).get(
            "share_by_way", {}
        ):
            found = (shares[c].get(name, {}).get("share_by_way", {}).get(way) for c in contexts)
            table.add_row(
                f"{name}, {way}", *("-" if x is None else f"{100 * x:.0f}%" for x in found)
            )
    if table.row_count:
        console.print(table)


def _cell(entry: dict[str, float] | None) -> str:
    if entry is None:
        return "-"
    notes = []
    if entry.get("times_ours", 1.0) != 1.0 and "share_of_bound" in entry:
        notes.append(f"×{entry['times_ours']:.2f}")
    if "share_of_bound" in entry:
        notes.append(f"{100 * entry['share_of_bound']:.0f}%")
    return f"{entry['ms']:.2f}" + (f" ({', '.join(notes)})" if notes else "")


def write(result: dict[str, Any], folder: Path, name: str) -> list[Path]:
    """`name`.json and, with matplotlib, `name`.svg in the folder."""
    folder.mkdir(parents=True, exist_ok=True)
    written = [folder / f"{name}.json"]
    written[0].write_text(json.dumps(result, indent=1) + "\n", encoding="utf-8")
    try:
        import matplotlib
    except ImportError:
        print("No plot: matplotlib is not installed (pip install matplotlib).")
        return written
    matplotlib.use("svg")
    matplotlib.rcParams["svg.hashsalt"] = "decode"
    written.append(folder / f"{name}.svg")
    _plot(result, written[-1])
    return written


def _plot(result: dict[str, Any], path: Path) -> None:
    """A colour a loop, dotted in bfloat16; the legend beside the lines it would hide."""
    import matplotlib.pyplot as plt

    figure, axes = plt.subplots(figsize=(9, 5))
    rows = {int(c): row["loops"] for c, row in result["contexts"].items()}
    contexts = sorted(rows)
    colours: dict[str, str] = {}
    for name in loops_of(result):
        loop = name.removesuffix(" f32").removesuffix(" bf16")
        colour = colours.setdefault(loop, "black" if loop == "bound" else f"C{len(colours)}")
        measured = [c for c in contexts if name in rows[c]]
        times = [rows[c][name]["ms"] for c in measured]
        style = ":" if name.endswith("bf16") else "-"
        width = 3 if loop == "ours" else 1.2
        label = name.replace("f32", "float32").replace("bf16", "bfloat16")
        line = {"marker": ".", "label": label, "linewidth": width, "color": colour}
        axes.plot(measured, times, style, **line)
    axes.set(xscale="log", yscale="log", xlabel="context (tokens)", ylabel="ms a token")
    axes.set_xticks(contexts, [str(c) for c in contexts], minor=False)
    axes.set_xticks([], minor=True)
    axes.set_title(f"Decode of {result['model']} parameters, batch 1, {_where(result)}")
    axes.grid(alpha=0.3)
    axes.legend(fontsize=8, loc="center left", bbox_to_anchor=(1.01, 0.5))
    figure.savefig(path, metadata={"Date": None}, bbox_inches="tight")


def _where(result: dict[str, Any]) -> str:
    machine = result["machine"]
    threads = machine["threads"]
    return ", ".join(machine["gpu"]) or f"CPU, {threads} thread{'s' if threads > 1 else ''}"
