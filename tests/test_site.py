"""The site for reading: whole, offline, and the same as what lies in the repository."""

import html
import json
import re
import subprocess
import sys
import tomllib
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urlsplit

import numpy as np
import pytest
from report_support import dump_dom, require_chromium

for library in ("jinja2", "latex2mathml", "markdown_it", "mdit_py_plugins", "pygments"):
    pytest.importorskip(library, reason=f"{library} is not installed (extra `site`)")

ROOT = Path(__file__).parents[1]
sys.path.insert(0, str(ROOT / "docs" / "site"))

import formulas  # noqa: E402
import make_site  # noqa: E402
import playground  # noqa: E402
import render  # noqa: E402

from reference_model import accounting, layers, sampling  # noqa: E402

HANDOUTS = {"README.md": "handout.html", "README.zh.md": "handout.zh.html"}
DOCS = sorted((ROOT / "docs").rglob("*.md"))
# What a browser loads without being asked, by tag.
LOADED = {"script": "src", "img": "src", "link": "href", "iframe": "src", "source": "srcset"}
FENCE = re.compile(r"^```(\w*)\n(.*?)^```$", re.S | re.M)


class Reader(HTMLParser):
    """What a page loads, links to and can be linked at, its text, and the texts of its blocks."""

    def __init__(self, path: Path):
        super().__init__()
        self.loads, self.links, self.ids, self.nav = [], [], [], []
        self.text, self.blocks = "", []
        self.open: list[str] = []
        self.feed(path.read_text(encoding="utf-8"))

    def handle_starttag(self, tag, attributes):
        values = dict(attributes)
        self.open.append(tag)
        self.loads += [values[LOADED[tag]]] if LOADED.get(tag) in values else []
        self.links += [values["href"]] if tag == "a" else []
        self.nav += [values["href"]] if tag == "a" and "nav" in self.open else []
        self.ids += [values["id"]] if "id" in values else []
        self.blocks += [""] if tag == "pre" else []
        if tag in {"meta", "link", "img", "input", "br", "hr", "wbr"}:
            self.open.pop()

    def handle_endtag(self, tag):
        while self.open and self.open.pop() != tag:
            pass

    def handle_data(self, data):
        if "pre" in self.open:
            self.blocks[-1] += data
        elif "main" in self.open and not {"code", "math"} & set(self.open):
            self.text += data


@pytest.fixture(scope="module")
def site(tmp_path_factory):
    """The site, by the command of `make site`, into a folder of its own."""
    out = tmp_path_factory.mktemp("site") / "site"
    command = [sys.executable, "docs/site/make_site.py", str(out)]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr
    return out


@pytest.fixture(scope="module")
def pages(site):
    return {path.name: Reader(path) for path in site.glob("*.html")}


def test_figures_of_several_panels_are_stacked_on_a_narrow_screen(site):
    """In the language of the page, each of its panels once."""
    for name, cuts in make_site.PANELS.items():
        below = name.replace(".svg", ".narrow.svg")
        drawn = (site / "media" / below).read_text(encoding="utf-8")
        assert drawn.count("<svg x=") == len(cuts) + 1
        wide = int(re.search(r'^<svg [^>]*width="(\d+)"', drawn)[1])
        assert wide <= 460  # at 390 its words can still be read
        for page, fragment in (("handout.html", ""), ("handout.zh.html", "#zh")):
            assert f'srcset="media/{below}{fragment}"' in (site / page).read_text("utf-8")


def test_figures_speak_the_language_of_their_page(site, tmp_path):
    """`figure.svg#zh`, in a real browser: the words of one language are drawn, not the other's."""
    figure = (site / "media" / "assignment-figures-decode.svg").read_text(encoding="utf-8")
    script = """addEventListener("load", () => {
      const words = [...document.querySelectorAll(".en, .zh")];
      document.title = words.find((e) => e.getBBox().width).textContent; });"""
    page = tmp_path / "figure.html"
    page.write_text(f"<title></title>{figure}<script>{script}</script>", encoding="utf-8")
    titles = [
        re.search(r"<title>(.*?)</title>", dump_dom(page, fragment)[0])[1]
        for fragment in ("", "#zh")
    ]
    assert titles == ["recompute", "重算"]


def test_nothing_is_loaded_from_elsewhere(site, pages):
    for name, page in pages.items():
        assert {"base.css", "site.css", "site.js"} <= set(page.loads), name
        for address in page.loads:
            parts = urlsplit(address)
            assert parts.scheme in {"", "data"} and not parts.netloc, f"{name} loads {address}"
            assert parts.scheme or (site / unquote(parts.path)).is_file(), f"{name}: {address}"
    for path in site.glob("*.css"):
        assert not re.search(r"url\(|@import|@font-face", path.read_text()), path.name
    script = (site / "site.js").read_text()
    assert not re.search(r"https?:|fetch\(|XMLHttpRequest|import\(|Worker\(", script)


def test_every_link_inside_the_site_leads_somewhere(pages):
    for name, page in pages.items():
        assert len(set(page.ids)) == len(page.ids), f"{name}: an id twice"
        for link in page.links:
            parts = urlsplit(link)
            if not parts.scheme:
                target = pages[unquote(parts.path) or name]
                assert not parts.fragment or unquote(parts.fragment) in target.ids, (name, link)


def test_every_page_is_in_every_navigation(pages):
    wanted = {*HANDOUTS.values(), *(make_site._address(f"{p.relative_to(ROOT)}") for p in DOCS)}
    wanted |= {"part10.html", "part10.zh.html", "part12.html", "part12.zh.html"}
    for name, page in pages.items():
        assert wanted <= set(page.nav), f"{name} lacks {wanted - set(page.nav)}"


@pytest.mark.parametrize("source", HANDOUTS)
def test_formulas_are_mathml_and_code_is_untouched(source, site, pages):
    text = (ROOT / "assignment" / source).read_text(encoding="utf-8")
    fences = FENCE.findall(text)
    page = (site / HANDOUTS[source]).read_text(encoding="utf-8")
    assert page.count('<div class="formula"') == sum(kind == "math" for kind, _ in fences) > 5
    assert page.count('<math display="inline"') > 100 and "<merror" not in page
    reader = pages[HANDOUTS[source]]
    assert "$" not in reader.text and "\\" not in reader.text
    assert reader.blocks == [code for kind, code in fences if kind != "math"]


def test_handouts_point_at_the_same_place_in_each_other(site, pages):
    for here, there in ("handout.html", "handout.zh.html"), ("handout.zh.html", "handout.html"):
        twins = re.findall(r'data-twin="([^"]+)"', (site / here).read_text(encoding="utf-8"))
        assert len(twins) > 20 and set(twins) <= set(pages[there].ids)
        assert there in pages[here].links


def test_stubs_are_pages(pages):
    assert pages["assignment-kv_cache.py.html"].blocks == [
        (ROOT / "assignment" / "kv_cache.py").read_text(encoding="utf-8")
    ]


def test_search_works_in_a_page_that_was_opened_from_a_folder(site):
    require_chromium()
    page, log = dump_dom(site / "security.html", "?q=%E5%9B%A0%E6%9E%9C")  # 因果, causal
    found = re.search(r'<ol id="found">(.*?)</ol>', page, re.S)
    assert found, "no result is shown"
    first = re.search(r'<a href="([^"]+)" lang="([^"]+)"><b>([^<]+)', found[1])
    assert first[1].startswith("handout.zh.html#") and first[2] == "zh-Hans" and "因果" in first[3]
    assert "<mark>因果</mark>" in found[1]
    assert not log, log


def test_search_knows_every_section(site, pages):
    rows = json.loads((site / "search-index.js").read_text().split(" = ", 1)[1].rstrip(";\n"))
    assert {row[0] for row in rows} == set(pages)
    assert all(not anchor or anchor in pages[page].ids for page, anchor, *_ in rows)
    softmax = next(row for row in rows if row[3] == "1.1 softmax" and row[5] == "en")
    assert "exponentials 7.389, 2.718, 1" in softmax[4]
    assert any("by the angle mωi:" in row[4] for row in rows)  # a formula, as it looks


def small(folder: Path, text: str) -> Path:
    """A repository of one page, and the list that names it."""
    (folder / "docs").mkdir()
    (folder / "docs" / "one.md").write_text(text, encoding="utf-8")
    order = folder / "pages.toml"
    order.write_text('title = "T"\n[[group]]\ntitle = "G"\npages = [["docs/one.md", "One"]]\n')
    return order


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("[a](two.md)", "docs/one.md refers to two.md, which does not exist"),
        ("[a](../../etc/passwd)", "refers to ../../etc/passwd, which does not exist"),
        ("# A\n\n[a](#b)", "docs/one.md links to #b, and no heading is called so"),
        ("[a](one.md#b)", "links to one.md#b, and no heading"),
        ("![a](a.svg)", "refers to a.svg, which does not exist"),
        ("![a](https://example.org/a.png)", "needs a network"),
        (r"$\frac{1}$", r"docs/one.md: the formula \frac{1} cannot be read: see mfrac"),
        (r"$\nosuch x$", r"docs/one.md: the formula \nosuch x cannot be read: see \nosuch"),
        (r"$\left( x$", r"docs/one.md: the formula \left( x cannot be read"),
    ],
)
def test_a_mistake_is_told_in_a_sentence_and_the_old_site_stays(tmp_path, text, sentence):
    order = small(tmp_path, "# Fine")
    make_site.build(tmp_path, tmp_path / "out", order)
    (tmp_path / "docs" / "one.md").write_text(text)
    with pytest.raises(make_site.BuildError) as error:
        make_site.build(tmp_path, tmp_path / "out", order)
    assert sentence in str(error.value)
    assert "Fine" in (tmp_path / "out" / "one.html").read_text()
    assert sorted(p.name for p in tmp_path.iterdir()) == ["docs", "out", "pages.toml"]


def test_a_folder_with_something_else_is_not_replaced(tmp_path):
    order = small(tmp_path, "# Fine")
    with pytest.raises(make_site.BuildError, match="not this site"):
        make_site.build(tmp_path, tmp_path / "docs", order)
    assert (tmp_path / "docs" / "one.md").exists()


def test_a_page_that_is_not_listed_is_there_all_the_same(tmp_path):
    order = small(tmp_path, "# Fine")
    (tmp_path / "docs" / "new.md").write_text("# Fresh <page>")
    make_site.build(tmp_path, tmp_path / "out", order)
    (tmp_path / "docs" / "new.md").write_text("# Fresher <page>")
    make_site.build(tmp_path, tmp_path / "out", order)  # in place of the first
    page = (tmp_path / "out" / "one.html").read_text()
    assert '<a href="new.html">Fresher' in page and "<page>" not in page


def body(text: str) -> str:
    return render.render(text, lambda address: address, lambda address: address).html


def test_the_dialect_is_githubs():
    assert "<li>a list right behind a line</li>" in body("A line\n- a list right behind a line")
    assert body("It costs $5 and $6.") == "<p>It costs $5 and $6.</p>\n"
    assert body("`$x$`") == "<p><code>$x$</code></p>\n"
    assert "<math" not in body("```sh\necho $HOME $x$\n```")
    code = re.sub("<.*?>", "", body("```sh\necho $a && b\n```"))
    assert html.unescape(code).strip() == "echo $a && b"
    assert body("$$x^2$$").count('<math display="block"') == 1


@pytest.mark.parametrize(
    ("latex", "pieces"),
    [
        (r"a = b \qquad c", ["a = b", "c"]),
        (r"\frac{a \quad b}{c} \quad d", [r"\frac{a \quad b}{c}", "d"]),
        (r"\begin{matrix} a \quad b \end{matrix}", [r"\begin{matrix} a \quad b \end{matrix}"]),
        (r"q \quad \to \quad (T)", ["q", r"\to\; (T)"]),
        (r"\{ a \quad b", [r"\{ a", "b"]),
    ],
)
def test_a_display_can_be_broken_where_it_is_loose(latex, pieces):
    assert formulas.split_at_quads(latex) == pieces


def test_signs_of_formulas_are_spaced():
    assert "<mi>cos</mi><mspace" in formulas.inline(r"\cos 2")
    assert "<mi>cos</mi><mspace" not in formulas.inline(r"\cos(2)")
    assert ">//</mo>" in formulas.inline("h // R")
    assert "<mi>nope</mi>" in formulas.inline("d_{nope}")
    assert "<mi>:</mi>" not in formulas.inline("q: T")
    long = formulas.inline(r"0.401\,[10, 0] + 0.198\,[0, 10] = [6.02, 3.98]")
    assert long.count("<math") == 3 and long.count("</math><wbr><math") == 2
    assert formulas.inline(r"\text{softmax}(a + b + c + d + e)").count("<math") == 1


# ---- The playground in a real browser: the reference's numbers, and each thing that can be move

TABLE = tomllib.loads((playground.FOLDER / "texts.toml").read_text(encoding="utf-8"))
PAGES = [name for name in TABLE if name != "shared"]
H100, LLAMA, DEEPSEEK = accounting.H100, accounting.LLAMA31_8B, accounting.DEEPSEEK_V3_ATTENTION

# What a visitor does, as short words for the checks below.
HANDS = r"""
const find = (key) => document.querySelector(`[data-key="${key}"]`);
const said = (key) => find(key).textContent;
const press = (key) => find(key).dispatchEvent(new MouseEvent("click", { bubbles: true }));
const pick = (key, value) =>
  document.querySelector(`[data-key="${key}"][data-value="${value}"]`).click();
const slide = (key, value) => {
  find(key).value = value;
  find(key).dispatchEvent(new Event("input"));
};
const type = (key, name) =>
  find(key).dispatchEvent(new KeyboardEvent("keydown", { key: name, bubbles: true }));
const drag = (key, dx, dy) => {
  const box = find(key).querySelector(".knob").getBoundingClientRect();
  const [left, top] = [box.x + box.width / 2, box.y + box.height / 2];
  const at = (x, y) => ({ clientX: left + x, clientY: top + y, bubbles: true, pointerId: 1 });
  find(key).dispatchEvent(new PointerEvent("pointerdown", at(0, 0)));
  find(key).dispatchEvent(new PointerEvent("pointermove", at(dx, dy)));
  find(key).dispatchEvent(new PointerEvent("pointerup", at(dx, dy)));
  find(key).dispatchEvent(new PointerEvent("pointermove", at(0, 0)));  // it is let go
};
const all = (css, f = (e) => e.textContent) => [...document.querySelectorAll(css)].map(f);
const output = () => document.getElementById("output").textContent;
const weights = () => all(".steps .cell");
const verdict = () => document.getElementById("error").className;
const tune = (row) => all(`.tune:nth-of-type(${row}) .note:not(.given)`);
const radius = (key, name) => Number(find(key).getAttribute(name));
"""

# By page and interaction: what is done to the fresh page, and what it then gives.
CHECKS = {
    "attention": {
        "D3's numbers": ("[output(), weights()]", ["[6.02, 3.98]", ["0.401", "0.198", "0.401"]]),
        "a key is dragged": (
            """drag("k2", 200, 0);
            const { q, k, v } = play.state, w = maths.attention(q, k, v).weights[2][1];
            return [k[1][0] > 1 && k[1][1] === 1, weights()[1] === play.num(w), w > 0.198]""",
            [True, True, True],
        ),
        "a key is moved by arrow keys": (
            """type("k1", "ArrowLeft"); type("k1", "ArrowUp"); return play.state.k[0]""",
            [0.8, 0.2],
        ),
        "a query is dragged and asks": (
            """drag("q1", 0, 1); return [play.state.token, all(".matrix .here th")]""",
            [1, ["q1"]],
        ),
        "a value is dragged": ("""type("v1", "ArrowRight"); return output()""", "[6.42, 3.98]"),
        "the mask": (
            """pick("token", 1); const masked = weights(); press("mask");
              return [masked, weights()]""",
            [["1", "0", "0"], ["0.198", "0.401", "0.401"]],
        ),
        "the scale": ("""press("scale"); return weights()""", ["0.422", "0.155", "0.422"]),
        "the temperature": (
            """slide("temperature", 0.1); return weights()""",
            ["0.5", "0", "0.5"],
        ),
        "all of it again": (
            """press("mask"); drag("k1", 9, 9); press("reset"); return [output(), location.hash]""",
            ["[6.02, 3.98]", ""],
        ),
        "the address keeps it": ("""press("mask"); return location.hash""", "#mask=false"),
    },
    "rope": {
        "distance": (
            """slide("m", 9); const far = said("score"); slide("n", 6);
            return [far !== said("score"), Number(said("score"))]""",
            None,
        ),
        "both moved, the score stays": (
            """const before = all('[data-key="score"]'); slide("shift", 137);
            return [...new Set([...before, ...all('[data-key="score"]')])].length""",
            1,
        ),
        "mixed pairs, the score moves": (
            """pick("pairing", "mixed"); const before = said("score"); slide("shift", 137);
            return [before !== said("score"), all(".verdict.wrong").length]""",
            [True, 1],
        ),
        "halves": (
            """pick("pairing", "halves"); return all("figcaption b")[0]""",
            "Entries 0 and 4",
        ),
        "a hand is turned": ("""drag("q0", 0, -60); return play.state.m""", 6),
        "a hand is turned by keys": (
            """type("k3", "ArrowRight"); type("q2", "ArrowDown");
              return [play.state.n, play.state.m]""",
            [3, 4],
        ),
        "the base": (
            """pick("theta", 100); return all("figcaption")[1].includes("ω = 0.3162")""",
            True,
        ),
        "the length": (
            """pick("length", 131072); const long = all(".clock .seldom").length;
              pick("length", 512);
            return [long, all(".clock .seldom").length]""",
            [0, 2],
        ),
    },
    "decode": {
        "tokens of both": (
            """for (let i = 0; i < 4; i++) press("next");
              return [said("recompute-total"), said("cached-total")]""",
            ["Σ 40", "Σ 10"],
        ),
        "right, to the last digit": ("""slide("step_of", 8); return [verdict(), tune(2)]""", None),
        "position 0": (
            """pick("bug", "position"); slide("step_of", 3); return verdict()""",
            "verdict wrong",
        ),
        "step 0 is right with every bug": (
            """const of = (bug) => { pick("bug", bug); return verdict(); };
            return ["position", "append", "mask"].map(of)""",
            ["verdict"] * 3,
        ),
        "the text still looks right": (
            """pick("bug", "position"); slide("step_of", 8);
              return [verdict(), all(".note.wrong").length]""",
            ["verdict wrong", 0],
        ),
        "append forgotten, cells stay empty": (
            """pick("bug", "append"); slide("step_of", 2);
            return [find("K6").getAttribute("class"), find("K5").getAttribute("class"),
              all('[data-key="cached"] .lost').length, verdict()]""",
            ["column vacant", "column", 1, "verdict wrong"],
        ),
        "cells fill": (
            """const before = find("K6").getAttribute("class"); press("next");
            return [before, find("K6").getAttribute("class"),
              all("#board .cache:first-of-type .frame.fresh").length]""",
            ["column vacant", "column", 4],
        ),
        "the mask at the top left sees key 0 only": (
            """pick("bug", "mask"); slide("step_of", 1);
            return all('[data-key="cache-0-0"]')""",
            ["1", *["0"] * 6],
        ),
        "two chunks are right without a bug": (
            """press("chunks"); press("next");
              return [verdict(), said("cached-total"),
                all('[data-key="cached"] text').filter((t) => t === "prefill").length]""",
            ["verdict", "Σ 7", 2],
        ),
        "two chunks show the mask at step 0": (
            """press("chunks"); pick("bug", "mask"); return verdict()""",
            "verdict wrong",
        ),
        "bytes": (
            """slide("step_of", 2); return all('[data-key="held"] td, [data-key="read"] td')""",
            ["0\u202fB", "4.00\u202fKiB", "", "0\u202fB", "10.5\u202fKiB", ""],
        ),
        "a note is changed": (
            """press("note2"); return [said("note2"), play.state.prompt]""",
            ["fa", [0, 1, 3, 3, 0, 1]],
        ),
        "the prompt's length": (
            """slide("length", 3); return [all(".prompt button").length, said("cached-total")]""",
            [3, "Σ 3"],
        ),
        "back": ("""press("next"); press("next"); press("back"); return play.state.step""", 1),
        "play and pause": (
            """press("play"); const words = find("pause").textContent; press("pause");
              return [words, Boolean(find("play"))]""",
            ["Pause", True],
        ),
    },
    "heads": {
        "groups": (
            """const of = (n) => { pick("kind", n); return all('[data-key^="k"].store').length; };
            return ["8", "4", "2", "1"].map(of)""",
            [8, 4, 2, 1],
        ),
        "a head and its group": ("""press("head5"); return all("h3")[0]""", None),
        "a head by the keyboard": ("""type("head7", "Enter"); return play.state.head""", 7),
        "latent": (
            """pick("kind", "mla"); return all(".counts .here th")""",
            ["MLA, absorbed", "MLA, expanded"],
        ),
        "context and batch": (
            """slide("context", 12); slide("batch", 0);
              return Number(find("read-mla").dataset.seconds)""",
            None,
        ),
        "absorbed is expanded": (
            """slide("c0", -2); slide("c1", 3);
              return [said("score-expanded"), said("score-absorbed")]""",
            ["0", "0"],
        ),
    },
    "costs": {
        "the handout's numbers": ("""return [said("intensity"), said("ridge")]""", ["22.2", "295"]),
        "the batch moves the point": (
            """const before = radius("point", "cx"); slide("batch", 10);
              return [said("intensity"), radius("point", "cx") > before]""",
            ["31.1", True],
        ),
        "the context brings the wall nearer": (
            """const before = radius("point", "cx"); slide("context", 16);
              return [radius("point", "cx") < before, said("share")]""",
            None,
        ),
        "model, machine, bytes": (
            """pick("model", 2); pick("hardware", 2); pick("bytes", 1);
              return [said("weights"), said("ridge"), said("kv")]""",
            None,
        ),
        "the cache outgrows the weights": (
            """slide("batch", 0); return all(".bars + .small")[0].includes("122,532")""",
            True,
        ),
    },
    "sampling": {
        "D3's temperatures": (
            """pick("set", "three");
            const p = (t) => { slide("temperature", t); return ["p0", "p1", "p2"].map(said); };
            return [1, 0.5, 2].map(p)""",
            [["0.665", "0.245", "0.09"], ["0.867", "0.117", "0.016"], ["0.506", "0.307", "0.186"]],
        ),
        "top-k": ("""slide("k", 3); return all(".ruled-out").length""", 5),
        "top-p": ("""slide("p", 0.4); return all(".ruled-out").length""", None),
        "a logit": ("""slide("logit7", 6); return [said("p7"), play.state.logits[7]]""", None),
        "draws": (
            """slide("k", 2); press("many"); press("draw");
            const counts = all("tbody td:last-child", (e) => Number(e.textContent));
            return [maths.sum(counts), counts.slice(2)]""",
            [101, [0] * 6],
        ),
    },
}


def _computed() -> dict[tuple[str, str], object]:
    """What a check gives that has None above: by the reference model."""
    notes, tokens = playground.NOTES, [*playground.PROMPT]
    for _ in range(9):
        logits = accounting.CountedModel(playground.TUNE, playground.tune_params()).forward(
            np.array([tokens])
        )
        tokens.append(int(logits[0, -1].argmax()))
    written = [notes[token] for token in tokens[len(playground.PROMPT) :]]
    share = round(100 * (1 - 1 / (1 + 64 * 65536 * 131072 / (2 * LLAMA.matmul_params()))))
    large, fast = accounting.LLAMA31_70B, accounting.H200
    logits = [3.2, 2.6, 2.4, 1.6, 1.1, 0.9, -0.4, -1.5]
    last = layers.softmax([*logits[:-1], 6])[7]
    turned = [
        layers.rope([vector], np.array([position]))
        for vector, position in (
            ([1, 0.4, 0.9, 0.5, 1, 0.1, 0.6, 0.7], 9),
            ([0.8, 0.1, 1, 0.2, 0.7, 0.4, 0.9, -0.1], 6),
        )
    ]
    read = accounting.mla_absorbed_core(DEEPSEEK, 4096).seconds(H100, 1, DEEPSEEK.n_layers)[0]
    return {
        ("decode", "right, to the last digit"): ["verdict", written],
        ("heads", "a head and its group"): "Head 5 asks: key and value of group ⌊5 / 4⌋ = 1",
        ("heads", "context and batch"): pytest.approx(read, rel=1e-12),
        ("costs", "the context brings the wall nearer"): [True, f"{share} %"],
        ("costs", "model, machine, bytes"): [
            f"{large.n_params() / 1e9:.1f}\u202fGB",
            f"{fast.ridge:.0f}",
            f"{64 * 4096 * large.kv_bytes_per_token(1) / 1e9:.1f}\u202fGB",
        ],
        ("rope", "distance"): [True, pytest.approx((turned[0] * turned[1]).sum(), abs=1e-9)],
        ("sampling", "a logit"): [f"{last:.3f}".rstrip("0"), 6],
        ("sampling", "top-p"): int(np.isneginf(sampling.top_p(logits, 0.4)).sum()),
    }


@pytest.fixture(scope="module")
def results(site):
    """What each page's checks gave, from one start of the browser a page."""
    require_chromium()
    found: dict[str, dict] = {}

    def of(page: str) -> dict:
        if page not in found:
            found[page] = _played(site, page)
        return found[page]

    return of


def _played(site: Path, page: str) -> dict:
    bodies = {name: script for name, (script, _) in CHECKS[page].items()}
    functions = ",".join(
        f"{json.dumps(name)}: () => {{ {body if 'return' in body else f'return {body}'} }}"
        for name, body in bodies.items()
    )
    script = f"""{HANDS}
    document.addEventListener("DOMContentLoaded", () => {{
      const start = structuredClone(play.state), found = {{ golden: play.check() }};
      for (const [name, check] of Object.entries({{ {functions} }})) {{
        play.set(structuredClone(start));
        try {{ found[name] = check(); }} catch (error) {{ found[name] = String(error); }}
      }}
      const pre = document.createElement("pre");
      pre.id = "found";
      pre.textContent = JSON.stringify(found, (_, x) => (x === Infinity ? "infinite" : x));
      document.body.replaceChildren(pre);
    }});"""
    text = (site / f"play-{page}.html").read_text(encoding="utf-8")
    tested = site / f"tested-{page}.html"
    tested.write_text(text.replace("</body>", f"<script>{script}</script></body>"), "utf-8")
    dom, log = dump_dom(tested)
    assert not log, log
    return json.loads(html.unescape(re.search(r'<pre id="found">(.*?)</pre>', dom, re.S)[1]))


@pytest.mark.parametrize(
    ("page", "name"), [(page, name) for page, checks in CHECKS.items() for name in checks]
)
def test_what_can_be_moved_moves_the_numbers(results, page, name):
    expected = CHECKS[page][name][1]
    assert results(page)[name] == (_computed()[page, name] if expected is None else expected)


def test_an_address_of_nonsense_gives_the_fresh_page(site):
    require_chromium()
    dom, log = dump_dom(site / "play-decode.html", "#step=99&prompt=7&bug=%22x")
    assert not log, log
    assert re.search(r'<p id="error"[^>]*class="verdict"', dom)


def test_every_function_gives_the_references_values(results):
    cases = playground.golden()["cases"]
    errors = results("decode")["golden"]
    assert [call for call, _ in errors] == [case["call"] for case in cases]
    assert all(error != "infinite" and error < 1e-12 for _, error in errors), errors


def test_every_page_fits_its_window_in_both_languages(site):
    require_chromium()
    measure = """<script>addEventListener("load", () => parent.postMessage(
      [document.title, document.documentElement.scrollWidth - innerWidth,
        document.querySelectorAll("#board svg, #board table").length], "*"));</script>"""
    frames = []
    for topic in playground.topics():
        text = (site / topic.address).read_text(encoding="utf-8")
        (site / f"measured-{topic.address}").write_text(
            text.replace("</body>", f"{measure}</body>"), encoding="utf-8"
        )
        frames += [
            f'<iframe src="measured-{topic.address}" width="{width}" height="900"></iframe>'
            for width in (390, 1600)
        ]
    listen = """<pre id="found"></pre><script>const found = [];
      addEventListener("message", (event) => { found.push(event.data);
        document.getElementById("found").textContent = JSON.stringify(found); });</script>"""
    (site / "frames.html").write_text(f"<!doctype html>{listen}{''.join(frames)}", "utf-8")
    dom, log = dump_dom(site / "frames.html")
    assert not log, log
    found = json.loads(re.search(r'<pre id="found">(.*?)</pre>', dom, re.S)[1])
    assert len(found) == len(frames)
    assert all(over <= 0 and drawn for _, over, drawn in found), found


def test_the_scripts_ask_for_nothing_and_are_small(site):
    scripts = sorted(site.glob("play-*.js"))
    assert len(scripts) == len(PAGES) + 3
    for script in scripts:
        text = script.read_text(encoding="utf-8")
        assert not re.search(r"fetch\(|XMLHttpRequest|import\(|Worker\(|innerHTML|eval\(", text)
    written = [*playground.FOLDER.glob("*.js")]
    assert sum(len(path.read_text().splitlines()) for path in written) < 2300


@pytest.mark.parametrize("page", ["shared", *PAGES])
def test_texts_are_there_in_both_languages(page):
    entry = TABLE[page]
    words = entry if page == "shared" else entry["words"] | {k: entry[k] for k in ("title", "lead")}
    for key, pair in words.items():
        assert len(pair) == 2 and all(pair), key
        holes = [sorted(set(re.findall(r"\{\w+\}", text))) for text in pair]
        assert holes[0] == holes[1], key


@pytest.mark.parametrize("page", PAGES)
def test_no_text_is_left_over(page):
    script = (playground.FOLDER / f"{page}.js").read_text(encoding="utf-8")
    for key in TABLE[page]["words"]:
        stem = re.sub(r"\d+$", "", key.split(".")[0])
        assert re.search(rf'["`]{stem}\b|["`]{stem}[.$]', script), key


def test_the_handout_and_the_overview_lead_to_the_pages(site):
    for topic in playground.topics():
        handout = "handout.html" if topic.language == "en" else "handout.zh.html"
        offers = re.findall('<p class="offer">.*', (site / handout).read_text(encoding="utf-8"))
        leading = [offer for offer in offers if f'<a href="{topic.address}">' in offer]
        assert len(leading) == len(topic.parts) > 0
        page = (site / topic.address).read_text(encoding="utf-8")
        assert f'lang="{topic.language}"' in page and html.escape(topic.lead) in page
    overview = (site / "index.html").read_text(encoding="utf-8").split("<main")[1]
    assert all(f'href="play-{page}.html"' in overview for page in PAGES)
