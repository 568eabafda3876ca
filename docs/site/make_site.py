"""Builds the site for reading: `make site`, or `python docs/site/make_site.py [FOLDER]`.

The handouts and every page of docs/ become HTML, from where they lie; source files that they link
to become pages too. The result opens from a folder (file://) as well as from a server, and loads
nothing from anywhere else.
"""

import html
import json
import re
import shutil
import sys
import tempfile
import tomllib
from dataclasses import dataclass, field
from pathlib import Path
from urllib.parse import unquote, urlsplit

try:
    import jinja2
    import playground
    from formulas import FormulaError
    from render import Document, Heading, code_page, render
except ImportError as missing:
    if not str(missing.name).startswith(("jinja2", "latex2mathml", "markdown_it", "mdit", "pygm")):
        raise
    sys.exit(
        f'{missing.name} is not installed. Install the site\'s tools: pip install -e ".[site]"'
    )

HERE = Path(__file__).resolve().parent
ROOT = HERE.parents[1]
LOOK = ROOT / "assignment/harness/page/base.css"  # colours and fonts, as in the reports
NAMES = {
    "docs/index.md": "index",
    "assignment/README.md": "handout",
    "assignment/PART10.md": "part10",
    "assignment/PART12.md": "part12",
    "assignment/COMPANION.md": "companion",
}
# Figures of several panels, and the x between them.
PANELS = {
    f"assignment-figures-{name}.svg": cuts
    for name, cuts in {
        "attention": (311,),
        "mask": (205, 495),
        "heads": (262, 474),
        "rope": (400,),
        "decode": (372,),
        "gqa": (266, 508),
        "mla": (395,),
        "shapes": (460,),
    }.items()
}
WORDS = {
    "en": {
        "skip": "Skip to the text",
        "menu": "Contents",
        "search": "Search",
        "nothing": "Nothing found.",
        "twin": "中文",
        "light": "Light",
        "dark": "Dark",
        "source": "Made from",
        "play": "Play with it:",
    },
    "zh-Hans": {
        "skip": "跳到正文",
        "menu": "目录",
        "search": "搜索",
        "nothing": "没有找到。",
        "twin": "English",
        "light": "浅色",
        "dark": "深色",
        "source": "本页由此生成：",
        "play": "动手玩：",
    },
}


class BuildError(ValueError):
    """What is wrong with a page, as a sentence."""


@dataclass
class Page:
    source: str  # relative to the repository
    address: str
    short: str = ""
    document: Document = field(default_factory=lambda: Document("", []))
    links: list[tuple[str, str]] = field(default_factory=list)  # (address as written, in the site)

    @property
    def language(self) -> str:
        return "zh-Hans" if self.address.endswith(".zh.html") else "en"

    @property
    def contents(self) -> list[tuple[Heading, list[Heading]]]:
        """The sections, each with its subsections."""
        sections: list[tuple[Heading, list[Heading]]] = []
        for heading in self.document.headings:
            if heading.level == 2:
                sections.append((heading, []))
            elif heading.level == 3 and sections:
                sections[-1][1].append(heading)
        return sections


def build(root: Path, out: Path, order: Path = HERE / "pages.toml") -> list[Page]:
    """Writes the site into `out`, which is replaced when, and only when, all pages could be made.

    `order` names titles and order of the pages. Raises BuildError: a broken link, an image that is
    missing, an unreadable formula, a page of `order` that does not exist.
    """
    if out.exists() and not (out / "search-index.js").exists() and any(out.iterdir()):
        raise BuildError(f"{out} holds something that is not this site; choose an empty folder")
    table = tomllib.loads(order.read_text(encoding="utf-8"))
    groups = _groups(root, table["group"])
    topics = playground.topics() if table.get("playground") else []
    for place, title in enumerate(table["playground"] if topics else ()):
        language = playground.LANGUAGES[place]
        members = [_topic_page(topic) for topic in topics if topic.language == language]
        groups.insert(1 + place, {"title": title, "pages": members, "language": language})
    pages = {page.source: page for group in groups for page in group["pages"]}
    read_in_turn = list(pages.values())
    out.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=out.parent) as folder:
        draft = Path(folder) / "site"
        draft.mkdir()
        for page in read_in_turn:
            if not page.document.html:
                _read(root, page, pages, draft)
        _offer(topics, pages)
        _check_anchors(pages)
        _write(draft, table["title"], groups, read_in_turn, pages)
        if topics:
            playground.write(draft)
        shutil.rmtree(out, ignore_errors=True)
        draft.rename(out)
    return list(pages.values())


def _groups(root: Path, wanted: list[dict]) -> list[dict]:
    """The navigation: what pages.toml names, then pages of docs/ and assignment/ it does not."""
    groups, named = [], set()
    for group in wanted:
        pages = []
        for source, short in group["pages"]:
            if not (root / source).is_file():
                raise BuildError(f"the list of pages names {source}, which does not exist")
            pages.append(Page(source, _address(source), short))
            named.add(source)
        groups.append({"title": group["title"], "pages": pages})
    found = [*sorted((root / "assignment").glob("*.md")), *sorted((root / "docs").rglob("*.md"))]
    others = [
        source for path in found if (source := path.relative_to(root).as_posix()) not in named
    ]
    if others:
        groups.append({"title": "More", "pages": [Page(s, _address(s)) for s in others]})
    return groups


def _topic_page(topic: playground.Topic) -> Page:
    heading = Heading(1, topic.name, topic.title, html.escape(topic.title), [topic.lead])
    source = f"{playground.TEXTS}#{topic.name}{'' if topic.language == 'en' else '.zh'}"
    return Page(source, topic.address, topic.title, Document(topic.html, [heading]))


def _offer(topics: list[playground.Topic], pages: dict[str, Page]) -> None:
    """Below the title of each part of the handout: its pages of the playground."""
    for name in ("assignment/README.md", "assignment/README.zh.md") if topics else ():
        page = pages[name]
        for heading, _ in page.contents:
            number = re.match(r"\D*(\d+)\b", heading.text)
            links = [
                f'<a href="{topic.address}">{html.escape(topic.title)}</a>'
                for topic in topics
                if number and int(number[1]) in topic.parts and topic.language == page.language
            ]
            offer = f'<p class="offer">{WORDS[page.language]["play"]} {", ".join(links)}</p>\n'
            above, title, below = page.document.html.partition(f'<h2 id="{heading.slug}">')
            if links:
                page.document.html = f"{above}{title}{below.replace('</h2>', f'</h2>{offer}', 1)}"


def _address(source: str) -> str:
    """Flat, so that every link between pages is a plain file name."""
    chinese = source.endswith(".zh.md")
    plain = source.replace(".zh.md", ".md")
    name = NAMES.get(plain) or plain.removeprefix("docs/").removesuffix(".md").replace("/", "-")
    return f"{name}{'.zh' if chinese else ''}.html"


def _read(root: Path, page: Page, pages: dict[str, Page], out: Path) -> None:
    def link(address: str) -> str | None:
        return _link(root, page, pages, address)

    def image(address: str) -> str:
        return _image(root, page, out, address)

    text = (root / page.source).read_text(encoding="utf-8")
    try:
        page.document = render(text, link, image)
        page.document.html = _with_narrow(page.document.html)
    except FormulaError as error:
        raise BuildError(f"{page.source}: {error}") from error
    page.short = page.short or page.document.title


def _link(root: Path, page: Page, pages: dict[str, Page], address: str) -> str | None:
    parts = urlsplit(address)
    if parts.scheme or parts.netloc:
        return address
    if not parts.path:
        page.links.append((address, f"{page.address}{address}"))
        return address
    source = _inside(root, page, address)
    if (root / source).is_dir():
        return None
    if f"{source}#{parts.fragment}" in pages:  # a page of the playground
        return pages[f"{source}#{parts.fragment}"].address
    if source not in pages:
        code = Page(source, _address(source), Path(source).name)
        code.document = code_page(source, (root / source).read_text(encoding="utf-8"))
        pages[source] = code
    target = pages[source].address + (f"#{parts.fragment}" if parts.fragment else "")
    page.links.append((address, target))
    return target


def _image(root: Path, page: Page, out: Path, address: str) -> str:
    if urlsplit(address).scheme:
        raise BuildError(f"{page.source} shows {address}, which needs a network; keep a copy here")
    source = _inside(root, page, address)
    target = out / "media" / source.replace("/", "-")
    target.parent.mkdir(exist_ok=True)
    shutil.copyfile(root / source, target)
    fragment = urlsplit(address).fragment
    address = f"media/{target.name}{f'#{fragment}' if fragment else ''}"
    if cuts := PANELS.get(target.name):
        below = target.with_suffix(".narrow.svg")
        below.write_text(_stacked(target.read_text(encoding="utf-8"), cuts), encoding="utf-8")
    return address


def _stacked(svg: str, cuts: tuple[int, ...]) -> str:
    """The figure cut at these x, its pieces below each other."""
    width, height = map(int, re.search(r'viewBox="0 0 (\d+) (\d+)"', svg).groups())
    opening, _, inside = svg.removesuffix("</svg>\n").partition(">")
    ground = re.search(r"<rect width.*?/>", inside)[0]
    ends = list(zip((0, *cuts), (*cuts, width), strict=True))
    most, whole = max(right - left for left, right in ends), height * len(ends)
    sizes = [(rf'"{width}"', f'"{most}"'), (rf'"{height}"', f'"{whole}"')]
    for old, new in sizes:
        ground = ground.replace(old, new)
    opening = re.sub(r'viewBox=.*?height="\d+"', "", opening)
    opening += f' viewBox="0 0 {most} {whole}" width="{most}" height="{whole}"'
    inside = inside.replace(re.search(r"<rect width.*?/>", inside)[0], "")
    pieces = [
        f'<svg x="{(most - right + left) / 2:g}" y="{height * place}" width="{right - left}" '
        f'height="{height}" viewBox="{left} 0 {right - left} {height}">{inside}</svg>'
        for place, (left, right) in enumerate(ends)
    ]
    return "\n".join([f"{opening}>{ground}", *pieces, "</svg>", ""])


def _with_narrow(page: str) -> str:
    """Where a figure has panels, a narrow screen shows them below each other."""

    def picture(found: re.Match) -> str:
        name, fragment = found[1], found[2] or ""
        if name not in PANELS:
            return found[0]
        below = f"media/{name.removesuffix('.svg')}.narrow.svg{fragment}"
        return f'<picture><source media="(width < 40rem)" srcset="{below}">{found[0]}</picture>'

    return re.sub(r'<img src="media/([\w.-]+)(#\w+)?"[^>]*>', picture, page)


def _inside(root: Path, page: Page, address: str) -> str:
    path = ((root / page.source).parent / unquote(urlsplit(address).path)).resolve()
    if not path.exists() or not path.is_relative_to(root):
        raise BuildError(f"{page.source} refers to {address}, which does not exist")
    return path.relative_to(root).as_posix()


def _check_anchors(pages: dict[str, Page]) -> None:
    anchors = {p.address: {heading.slug for heading in p.document.headings} for p in pages.values()}
    for page in pages.values():
        for written, target in page.links:
            address, _, anchor = target.partition("#")
            if anchor and unquote(anchor) not in anchors[address]:
                raise BuildError(f"{page.source} links to {written}, and no heading is called so")


def _write(out: Path, title: str, groups: list, order: list[Page], pages: dict[str, Page]) -> None:
    environment = jinja2.Environment(
        loader=jinja2.FileSystemLoader(HERE),
        autoescape=True,
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
    )
    template = environment.get_template("page.html.j2")
    for page in pages.values():
        turn = [other for other in order if other.language == page.language]
        place = turn.index(page) if page in turn else None
        twin = _twin(page, pages)
        text = template.render(
            title=title,
            groups=groups,
            page=page,
            say=WORDS[page.language],
            twin=twin,
            before=turn[place - 1] if place else None,
            after=turn[place + 1] if place is not None and place + 1 < len(turn) else None,
        )
        if twin:  # the line that does this on GitHub
            text = re.sub(rf'<p><em>[^<]*<a href="{twin.address}">[^<]*</a></em></p>\n', "", text)
        text = _pair_headings(text, page, twin)
        (out / page.address).write_text(text, encoding="utf-8")
    (out / "search-index.js").write_text(_search_index(pages.values()), encoding="utf-8")
    shutil.copyfile(LOOK, out / "base.css")
    for name in ("site.css", "site.js"):
        shutil.copyfile(HERE / name, out / name)


def _twin(page: Page, pages: dict[str, Page]) -> Page | None:
    """The same page in the other language."""
    chinese = page.address.endswith(".zh.html")
    name = page.address.removesuffix(".zh.html" if chinese else ".html")
    other = f"{name}.html" if chinese else f"{name}.zh.html"
    return next((twin for twin in pages.values() if twin.address == other), None)


def _pair_headings(text: str, page: Page, twin: Page | None) -> str:
    """Tells each heading its twin's anchor, so that a change of language stays at the place."""
    mine, theirs = page.document.headings, twin.document.headings if twin else []
    if [heading.level for heading in mine] != [heading.level for heading in theirs]:
        return text
    for heading, other in zip(mine, theirs, strict=True):
        opening = f'<h{heading.level} id="{heading.slug}"'
        text = text.replace(opening, f'{opening} data-twin="{other.slug}"')
    return text


def _search_index(pages) -> str:
    """Rows (page, anchor, page's title, heading, text, language), as a script: no fetch needed,
    which a browser refuses to a page that was opened from a folder.
    """
    rows = [
        [
            page.address,
            heading.slug if heading.level > 1 else "",
            page.document.title,
            heading.text,
            " ".join(" ".join(heading.body).split()),
            page.language,
        ]
        for page in pages
        for heading in page.document.headings
    ]
    return f"window.searchIndex = {json.dumps(rows, ensure_ascii=False)};\n"


def main(arguments: list[str]) -> None:
    out = Path(arguments[0]) if arguments else ROOT / "build" / "site"
    try:
        pages = build(ROOT, out.resolve())
    except BuildError as error:
        sys.exit(f"The site was not built: {error}.")
    print(f"{len(pages)} pages. Open {out / 'index.html'} in a browser.")


if __name__ == "__main__":
    main(sys.argv[1:])
