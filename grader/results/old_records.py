"""Reads records of schema version 1, in which facts stood in sentences.

Here alone sentences are read, of the two languages that version spoke, and never of a new record.
What is not recognised stays in words.
"""

import json
import re

SCHEMA_VERSION = 1

# A student whose id was taken already.
_SAME_ID = re.compile(
    r"(?:another submission has the same id |另一份提交的 id 也是 )(?P<name>.+?)"
    r"(?:; both are graded|，两份都评了分)"
)
_WHERE = ("first wrong", "第一处错误")
_NOT_PYTHON = re.compile(
    r"ImportError: (?P<file>[\w.]+) (?:line|第) (?P<line>\d+) "
    r"(?:is not valid Python: |行不是合法的 Python：)(?P<problem>[^\n]*)"
)
_ID = re.compile(r"(?P<file>[^:]+)::(?P<function>\w+)(?:\[(?P<parameters>.*)\])?", re.DOTALL)
_CASE_SETS = ("public", "hidden")


def upgraded(content: bytes) -> bytes:
    """A record of version 1 as one of version 2; ValueError where it is none."""
    try:
        record = json.loads(content)
        record |= {
            "schema_version": 2,
            "notes": [_note(text) for text in record.get("notes", ())],
            "tests": [_test(test) for test in record.get("tests", ())],
            "sandbox": re.split(r"\W", record.get("sandbox_tier", ""))[0] or None,
        }
    except (AttributeError, KeyError, TypeError) as problem:
        raise ValueError(f"no record of version {SCHEMA_VERSION}") from problem
    return json.dumps(record).encode()


def _note(text: str) -> dict:
    if found := _SAME_ID.fullmatch(text):
        return {"kind": "same_id", "fields": {"name": found["name"]}}
    return {"kind": "words", "fields": {"text": text}}


def _test(test: dict) -> dict:
    return test | _names(test["id"], test["title"]) | _facts(test.get("message", ""))


def _names(test_id: str, title: str) -> dict:
    """What the id and the title say together; an id that is none of ours says nothing."""
    found = _ID.fullmatch(test_id)
    if found is None:
        return {}
    names = (found["parameters"] or "").split("-")
    case_set = next((name for name in names if name in _CASE_SETS), None)
    if case_set:
        names.remove(case_set)
    case, variant = "-".join(names), ""
    if case:  # then the parameters stand behind the title, too
        title, _, variant = title.rpartition(" (")
    return {
        "file": found["file"],
        "function": found["function"],
        "case_set": case_set,
        "case": case,
        "title": title,
        "variant": variant.removesuffix(")"),
    }


def _facts(message: str) -> dict:
    lines = message.splitlines()
    facts: dict = {"where": next((line for line in lines if line.startswith(_WHERE)), "")}
    if found := _NOT_PYTHON.match(message):
        facts["import_failure"] = {
            "kind": "not_python",
            "module": found["file"].removesuffix(".py"),
            "file": found["file"],
            "line": int(found["line"]),
            "problem": found["problem"],
        }
    return facts
