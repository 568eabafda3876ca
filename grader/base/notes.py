"""What the grader notes about a submission: facts, which become words where somebody reads them.

A record keeps the kind of a note and its fields, so that a decision reads a field, and a page says
the note in the page's language, whatever the run spoke.
"""

import json
import string
from collections.abc import Sequence
from typing import Annotated, Literal

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, StrictInt, model_validator

from grader.base.words import spoken, tr

MAX_NOTE = 400
MAX_NAMES = 50

# The sentence of each kind in English. A field that is a list of names is joined in words.
SENTENCES = {
    # Intake
    "same_id": "another submission has the same id {name}; both are graded",
    "only_submission": "found in {where}/, the only submission in {folder}/",
    "unreadable_folder": "{folder}/ is unreadable ({problem})",
    "unreadable_file": "{file} is unreadable ({problem}) and was ignored",
    "no_plain_file": "{file} is not a plain file and was ignored",
    "link": "{file} is a symbolic link and was ignored",
    "inner_archive": "{file} is an archive inside the submission and was ignored",
    "file_twice": "{file} occurs twice; the last one was taken",
    "modules_further_down": "modules in {other}/ were ignored: {chosen}/ is nearer",
    "empty_file": "{file} is empty: what was to be in it was not saved, or not handed in",
    "no_importable_name": "not importable by their names, ignored: {files}",
    "near_miss": "found {found}: rename it to {expected} if it is meant",
    "near_miss_taken": "{found} was taken for {expected}",
    "modules_before_notebook": "the notebook was ignored: modules were handed in",
    "parts_before_notebook": (
        "the notebook {other} was ignored: the notebooks of the parts were taken"
    ),
    "another_notebook": "the notebook {other} was ignored: {chosen} was taken",
    "from_stubs": "not handed in, graded as unfinished: {files}; hand in what is done",
    # The record
    "more": "… and {n} more notes",
}
# Why an earlier record is not trusted: what is said behind the name of its file.
REFUSALS = {
    "unreadable": "could not be read ({problem})",
    "no_plain_file": "is not a plain file of sensible size",
    "damaged": "is damaged or not the grader's",
    "older": "was written by an older grader",
    "newer": "was written by a newer grader",
    "of_another": "belongs to another student",
}


def bounded(limit: int, keep_end: bool = False) -> BeforeValidator:
    """A validator that makes any text storable: valid Unicode, at most `limit` characters."""

    def clean(value: object) -> object:
        if not isinstance(value, str):
            return value
        if len(value) <= limit and value.isascii():  # most of a record's three thousand texts
            return value
        value = value.encode("utf-8", "replace").decode()
        if len(value) <= limit:
            return value
        return "…" + value[-limit + 1 :] if keep_end else value[: limit - 1] + "…"

    return BeforeValidator(clean)


Word = Annotated[str, bounded(MAX_NOTE)]
Words = Annotated[tuple[Word, ...], Field(max_length=MAX_NAMES)]
Kind = Literal[
    "same_id",
    "only_submission",
    "unreadable_folder",
    "unreadable_file",
    "no_plain_file",
    "link",
    "inner_archive",
    "file_twice",
    "modules_further_down",
    "empty_file",
    "no_importable_name",
    "near_miss",
    "near_miss_taken",
    "modules_before_notebook",
    "parts_before_notebook",
    "another_notebook",
    "from_stubs",
    "more",
    "unreadable_notebook",
    "earlier_record",
    "words",
]
# Kinds that are more than one sentence with fields.
_FIELDS_OF_OTHERS = {
    "unreadable_notebook": {"file", "problem"},
    "earlier_record": {"file", "why", "problem"},
    "words": {"text"},
}


class Note(BaseModel):
    """One fact about a submission.

    Attributes:
        kind: what it is; `words` is a sentence of a record that an older grader wrote.
        fields: what it is about: exactly what the kind's sentence names.
    """

    model_config = ConfigDict(extra="forbid", frozen=True)

    kind: Kind
    fields: dict[str, StrictInt | Word | Words] = {}

    @model_validator(mode="after")
    def _has_the_fields_of_its_kind(self) -> "Note":
        if self.fields.keys() != _fields_of(self.kind):
            raise ValueError(f"a note of kind {self.kind} has other fields")
        if self.kind == "earlier_record" and self.fields["why"] not in REFUSALS:
            raise ValueError("there is no such reason to refuse a record")
        return self


def note(kind: Kind, /, **fields: object) -> Note:
    """A note of a kind; paths and other objects are kept as their text."""
    storable = {
        name: value if isinstance(value, int | tuple) else str(value)
        for name, value in fields.items()
    }
    return Note(kind=kind, fields=storable)


def in_words(note: Note) -> str:
    """The note in the language spoken, at most MAX_NOTE characters."""
    words = _in_words(note)
    return words if len(words) <= MAX_NOTE else words[: MAX_NOTE - 1] + "…"


def _in_words(note: Note) -> str:
    fields = note.fields
    if note.kind == "words":
        return str(fields["text"])
    if note.kind == "unreadable_notebook":
        return f"{fields['file']}: {fields['problem']}"
    if note.kind == "earlier_record":
        return tr("an earlier ") + why_refused(note) + tr("; graded anew")
    said = {name: _said(value) for name, value in fields.items()}
    return spoken(SENTENCES[note.kind]).format(**said)


class Reason:
    """Why there is nothing to grade, in facts; str() says it in the language spoken.

    Attributes:
        rule: the sentence in English, as the dictionary has it.
        fields: what fills it. A tuple is a list of names.
    """

    def __init__(self, rule: str, /, **fields: "Fact") -> None:
        self.rule, self.fields = rule, fields

    @classmethod
    def of(cls, reasons: Sequence["Reason"], between: str = "") -> "Reason":
        """Several, said one behind the other."""
        named = {f"reason{number}": reason for number, reason in enumerate(reasons)}
        return cls(between.join(f"{{{name}}}" for name in named), **named)

    def __str__(self) -> str:
        return spoken(self.rule).format(**{name: _said(fact) for name, fact in self.fields.items()})

    def facts(self) -> str:
        """The rule and its fields as JSON, the same in every language."""
        return json.dumps([self.rule, self.fields], default=_as_fact, sort_keys=True)


Fact = str | int | bytes | None | tuple[str, ...] | Note | Reason


def _said(fact: Fact) -> object:
    if isinstance(fact, Note):
        return in_words(fact)
    return tr(", ").join(fact) if isinstance(fact, tuple) else fact


def _as_fact(fact: Fact) -> object:
    if isinstance(fact, Reason):
        return [fact.rule, fact.fields]
    return fact.model_dump() if isinstance(fact, Note) else repr(fact)


def why_refused(note: Note) -> str:
    """`ana.json is damaged or not the grader's`, of a note of kind `earlier_record`."""
    why = spoken(REFUSALS[str(note.fields["why"])]).format(problem=note.fields["problem"])
    return f"{note.fields['file']} {why}"


def _fields_of(kind: str) -> set[str]:
    if kind in _FIELDS_OF_OTHERS:
        return _FIELDS_OF_OTHERS[kind]
    return {field for _, field, _, _ in string.Formatter().parse(SENTENCES[kind]) if field}
