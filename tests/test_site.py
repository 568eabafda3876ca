"""The site for reading: whole, offline, and the same as what lies in the repository."""

import html
import json
import re
import subprocess
import sys
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urlsplit

import pytest
from report_support import dump_dom, require_chromium

for library in ("jinja2", "latex2mathml", "markdown_it", "mdit_py_plugins", "pygments"):
    pytest.importorskip(library, reason=f"{library} is not installed (extra `site`)")

ROOT = Path(__file__).parents[1]
sys.path.insert(0, str(ROOT / "docs" / "site"))

import formulas  # noqa: E402
import make_site  # noqa: E402
import render  # noqa: E402

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
