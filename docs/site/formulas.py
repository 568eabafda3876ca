"""LaTeX to MathML, when the site is built: a page needs no script to show a formula.

latex2mathml does the translation. What is added here is typography: formulas that can be broken
into lines on a narrow screen, and the few signs whose spacing it gets wrong.
"""

import functools
import re
from xml.etree import ElementTree

from latex2mathml.converter import convert

BREAKS = {"+", "=", "≥", "≤", "≈", "→", "↦"}
SIGNS = {":", ";", "⌊", "⌋", "⌈", "⌉", "′"}  # operators that come as identifiers
OPERANDS = {"mi", "mn", "msub", "msup", "msubsup", "mfrac"}
PARTS = {"mfrac": 2, "msub": 2, "msup": 2, "munder": 2, "mover": 2, "mroot": 2, "msubsup": 3}
LONG = 24  # characters of LaTeX from which an inline formula may be broken


class FormulaError(ValueError):
    """A formula that cannot be translated, as a sentence."""


def inline(latex: str) -> str:
    """One `<math>`, or several that a line may be broken between, where TeX does it."""
    row = _tidy(_translate(latex, "inline"))
    parts = [row] if len(latex) < LONG else _split(row)
    return "<wbr>".join(_html(part, latex, "inline") for part in parts)


def display(latex: str) -> str:
    """A row of `<math>` blocks, one for each stretch between `\\quad`s, that wraps if it must."""
    pieces = split_at_quads(" ".join(latex.split()))
    blocks = [_html(_tidy(_translate(piece, "block")), piece, "block") for piece in pieces]
    return f'<div class="formula" tabindex="0">{"".join(blocks)}</div>\n'


def plain(latex: str) -> str:
    """What a formula shows, as characters to search in."""
    return "".join(_translate(" ".join(latex.split()), "inline").itertext())


def split_at_quads(latex: str) -> list[str]:
    """The stretches between the `\\quad`s that stand outside of all braces and environments.

    An arrow alone stays with what it points to.
    """
    pieces, start, depth = [""], 0, 0
    for token in re.finditer(r"\\(?:begin|left|end|right|qq?uad)(?![a-zA-Z])|\\.|[{}]", latex):
        if token[0] in {"{", "\\begin", "\\left"}:
            depth += 1
        elif token[0] in {"}", "\\end", "\\right"}:
            depth -= 1
        elif token[0].endswith("quad") and depth == 0:
            pieces[-1] += latex[start : token.start()]
            pieces.append("")
            start = token.end()
    pieces[-1] += latex[start:]
    joined: list[str] = []
    for piece in map(str.strip, pieces):
        if joined and joined[-1] == r"\to":
            joined[-1] += rf"\; {piece}"
        elif piece:
            joined.append(piece)
    return joined


def _translate(latex: str, how: str) -> ElementTree.Element:
    """The outermost row of a formula."""
    try:
        root = ElementTree.fromstring(_convert(latex, how))
    except Exception as error:  # latex2mathml has many, and passes on those of its parser
        raise FormulaError(f"the formula {latex} cannot be read: {error or type(error)}") from error
    for node in root.iter():
        if "\\" in (node.text or "") or len(node) != PARTS.get(node.tag, len(node)):
            raise FormulaError(f"the formula {latex} cannot be read: see {node.text or node.tag}")
    return root[0]


@functools.cache
def _convert(latex: str, how: str) -> str:
    return re.sub(r' xmlns="[^"]*"', "", convert(latex, display=how))


def _tidy(row: ElementTree.Element) -> ElementTree.Element:
    """Signs are operators, `//` is one sign, cos m has a space, words in an index are upright."""
    for node in list(row.iter()):
        if node.tag == "mi" and node.text in SIGNS:
            node.tag = "mo"
            node.attrib.update({"stretchy": "false", "lspace": "0"})
            node.set("rspace", "0.28em" if node.text in ":;" else "0")
        texts = [child.text or "" if child.tag == "mi" else "" for child in node]
        if len(texts) > 2 and all(len(text) == 1 and text.isalpha() for text in texts):
            node[:] = [_element("mi", "".join(texts))]
        for place in range(len(node) - 1, 0, -1):
            before, here = node[place - 1], node[place]
            if before.tag == here.tag == "mo" and before.text == here.text == "/":
                before.text = "//"
                del node[place]
            elif before.tag == "mi" and len(before.text or "") > 1 and here.tag in OPERANDS:
                node.insert(place, _element("mspace", width="0.167em"))
    return row


def _element(tag: str, text: str | None = None, **attributes: str) -> ElementTree.Element:
    element = ElementTree.Element(tag, attributes)
    element.text = text
    return element


def _split(row: ElementTree.Element) -> list[ElementTree.Element]:
    """At relations and sums outside of brackets."""
    parts, depth = [_element("mrow")], 0
    for child in row:
        parts[-1].append(child)
        sign = child.text if child.tag == "mo" else None
        depth += {"(": 1, "[": 1, ")": -1, "]": -1}.get(sign, 0)
        if sign in BREAKS and depth == 0:
            parts.append(_element("mrow"))
    return [part for part in parts if len(part)]


def _html(row: ElementTree.Element, latex: str, how: str) -> str:
    math = _element("math", display=how, alttext=latex)
    math.append(row)
    return ElementTree.tostring(math, encoding="unicode", short_empty_elements=False)
