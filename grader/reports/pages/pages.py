"""Templates to pages: each is one file with its style and script inside and needs no network."""

from functools import cache
from pathlib import Path
from typing import Any

from markupsafe import Markup

from assignment.harness.page.document import content_policy, own_files
from assignment.harness.page.sections import points
from grader.base.errors import GraderError
from grader.base.words import language_tag, spoken, tr, tr_n
from grader.reports.pages import text

_HERE = Path(__file__).parent


@cache
def _environment() -> Any:
    try:
        import jinja2
    except ImportError:
        raise GraderError(
            'The report needs the package jinja2: pip install -e ".[grader]" brings it.'
        ) from None
    environment = jinja2.Environment(
        loader=jinja2.FileSystemLoader(_HERE / "templates"),
        autoescape=True,
        # Reached by everything a template prints, so that no string can be forgotten.
        finalize=text.visible,
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters |= {
        "points": points,
        "seconds": text.seconds,
        "moment": text.moment,
    }
    # Functions, not filters: a filter on a constant is computed once, in one language.
    environment.globals |= {
        "tr": tr,
        "tr_n": tr_n,
        "tr_html": _with_marks,
        "spoken": spoken,
        "language_tag": language_tag,
    }
    return environment


def _with_marks(english: str, /, **values: Any) -> Markup:
    """`tr` of a text with elements in it; what is filled in is made visible and escaped."""
    shown = {name: text.visible(value) for name, value in values.items()}
    return Markup(spoken(english)).format(**shown)  # the text is ours


def render(template: str, styles: tuple[str, ...], scripts: tuple[str, ...], **values: Any) -> str:
    """A page from a template, the base style and the theme's script, and these of `static/`."""
    style = Markup(own_files("base.css") + text.static(styles))
    script = Markup(own_files("theme.js") + text.static(scripts))  # both ours, so not escaped
    return (
        _environment()
        .get_template(template)
        .render(
            style=style,
            script=script,
            content_security_policy=content_policy(style, script),
            **values,
        )
    )
