"""GitHub's Markdown to HTML: the dialect in which the handouts and docs/ are written."""

import html
import re
from collections.abc import Callable
from dataclasses import dataclass, field

import formulas
from markdown_it import MarkdownIt
from markdown_it.token import Token
from mdit_py_plugins.dollarmath import dollarmath_plugin
from pygments import highlight
from pygments.formatters import HtmlFormatter
from pygments.lexers import get_lexer_by_name, get_lexer_for_filename
from pygments.util import ClassNotFound

SHORT, LONG = 16, 40  # characters in a table's cell: of all at most, in the mean
HAN = "\u3400-\u9fff\u3000-\u303f\uff00-\uffef"


@dataclass
class Heading:
    level: int
    slug: str
    text: str
    html: str
    body: list[str] = field(default_factory=list)  # what search finds below it


@dataclass
class Document:
    html: str
    headings: list[Heading]

    @property
    def title(self) -> str:
        return self.headings[0].text if self.headings else ""


def github_slug(text: str, taken: set[str]) -> str:
    """The anchor that GitHub gives a heading, so that one link serves there and here."""
    base = slug = re.sub(r"[^\w\- ]", "", text.strip().lower()).replace(" ", "-")
    number = 0
    while slug in taken:
        number += 1
        slug = f"{base}-{number}"
    taken.add(slug)
    return slug


def render(text: str, link: Callable[[str], str | None], image: Callable[[str], str]) -> Document:
    """A page of Markdown.

    `link` and `image` turn an address of the source into one of the site. A link for which
    `link` gives None has nowhere to go here and becomes plain text.
    """
    parser = _parser()
    tokens = parser.parse(text)
    headings = _headings(parser, tokens)
    for token in tokens:
        _move_addresses(token.children or [], link, image)
    _mark_columns(tokens)
    return Document(_mark_emphasis(parser.renderer.render(tokens, parser.options, {})), headings)


def code_page(name: str, text: str) -> Document:
    """A source file, coloured."""
    heading = Heading(1, "top", name, html.escape(name), [text])
    try:
        lexer = get_lexer_for_filename(name)
    except ClassNotFound:
        lexer = get_lexer_by_name("text")
    title = f'<h1 id="top"><code>{html.escape(name)}</code></h1>\n'
    return Document(title + _pre(highlight(text, lexer, HtmlFormatter(nowrap=True))), [heading])


def _parser() -> MarkdownIt:
    parser = MarkdownIt("commonmark", {"highlight": None}).enable(["table", "strikethrough"])
    # As on GitHub: "$5 and $6" is no formula.
    parser.use(dollarmath_plugin, allow_space=False, allow_digits=False, double_inline=True)
    rules = parser.renderer.rules
    rules["math_inline"] = lambda tokens, i, *_: formulas.inline(tokens[i].content)
    for name in ("math_block", "math_block_label", "math_inline_double"):
        rules[name] = lambda tokens, i, *_: formulas.display(tokens[i].content)
    rules["fence"] = lambda tokens, i, *_: _fence(tokens[i])
    rules["code_block"] = lambda tokens, i, *_: _pre(html.escape(tokens[i].content))
    rules["table_open"] = lambda *_: '<div class="scroll" tabindex="0"><table>\n'
    rules["table_close"] = lambda *_: "</table></div>\n"
    return parser


def _fence(token: Token) -> str:
    language = token.info.split()[0] if token.info.strip() else "text"
    if language == "math":
        return formulas.display(token.content)
    if language == "python" and token.content.lstrip().startswith(">>>"):
        language = "pycon"
    try:
        lexer = get_lexer_by_name(language, stripnl=False)
    except ClassNotFound:
        return _pre(html.escape(token.content))
    return _pre(highlight(token.content, lexer, HtmlFormatter(nowrap=True)))


def _pre(code: str) -> str:
    return f'<pre tabindex="0"><code>{code}</code></pre>\n'


def _headings(parser: MarkdownIt, tokens: list[Token]) -> list[Heading]:
    """All headings, each given its anchor, with the text below it up to the next one."""
    found: list[Heading] = []
    taken: set[str] = set()
    for here, token in enumerate(tokens):
        if token.type == "heading_open":
            content = tokens[here + 1]
            text = _words(content.children or [])
            slug = github_slug(text, taken)
            token.attrSet("id", slug)
            short = parser.renderer.renderInline(content.children, parser.options, {})
            found.append(Heading(int(token.tag[1]), slug, text, short))
        elif found and token.type == "inline" and tokens[here - 1].type != "heading_open":
            found[-1].body.append(_shown(token.children or []))
        elif found and token.type in {"fence", "code_block"} and token.info != "math":
            found[-1].body.append(token.content)
    return found


def _words(tokens: list[Token]) -> str:
    plain = {"text", "code_inline", "math_inline"}
    words = [t.content if t.type in plain else " " if "break" in t.type else "" for t in tokens]
    return "".join(words)


def _shown(tokens: list[Token]) -> str:
    """The same with formulas as they look."""
    return "".join(
        formulas.plain(token.content) if token.type == "math_inline" else _words([token])
        for token in tokens
    )


def _move_addresses(tokens: list[Token], link: Callable, image: Callable) -> None:
    closing = []
    for token in tokens:
        if token.type == "link_open":
            address = link(str(token.attrGet("href")))
            closing.append(address)
            if address is None:
                token.tag, token.attrs = "span", {}
            else:
                token.attrSet("href", address)
        elif token.type == "link_close" and closing.pop() is None:
            token.tag = "span"
        elif token.type == "image":
            token.attrSet("src", image(str(token.attrGet("src"))))
            token.attrSet("loading", "lazy")


def _mark_columns(tokens: list[Token]) -> None:
    """Cells of columns of short entries are not broken; those of long ones get room."""
    table: list[list[tuple[Token, int]]] = []  # by column: its cells and their lengths
    column = 0
    for here, token in enumerate(tokens):
        if token.type == "table_open":
            table = []
        elif token.type == "tr_open":
            column = 0
        elif token.type in {"td_open", "th_open"}:
            if column == len(table):
                table.append([])
            table[column].append((token, len(_words(tokens[here + 1].children or []))))
            column += 1
        elif token.type == "table_close":
            for cells in table:
                lengths = [length for _, length in cells]
                mean = sum(lengths) / len(lengths)
                name = "short" if max(lengths) < SHORT else "long" if mean > LONG else None
                for cell, _ in cells if name else ():
                    cell.attrJoin("class", name)


def _mark_emphasis(page: str) -> str:
    """Chinese has no italics: its emphasis is dots below, which CSS adds."""
    return re.sub(rf"<em>(?=[{HAN}]+</em>)", '<em class="han">', page)
