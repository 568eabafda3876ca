"""Whose a submission is: an id from a path.

The id is the path below what was handed in: `bob`, or `B_bob` in section `B`, whoever else is
there. A file counts without its suffix. Three names end the path, as what lies below is surely
theirs: Canvas's `lastfirst_LATE_12345_6789_file.zip` becomes `lastfirst_12345` (name and Canvas
user), Moodle's `Jane Doe_123_assignsubmission_file` becomes `Jane_Doe_123`, and the only submission
in a folder, when it is called `homework`, `hw1` or the like, is that of the folder. Loose modules
with a platform's prefix are joined to one submission. Where two have the same id, nobody keeps it:
they get `-1`, `-2` behind it and a note each.
"""

import re
import unicodedata

MAX_ID_BYTES = 100
_CANVAS = re.compile(r"(?P<name>[^_]+)_(?:LATE_)?(?P<user>\d+)_(?P<upload>\d+)_(?P<file>.+)")
_MOODLE = re.compile(
    r"(?P<name>.+)_(?P<user>\d+)_assignsubmission_(?:file|onlinetext)(?:_(?P<file>.*))?"
)
_RESUBMITTED = re.compile(r"(-\d+| ?\(\d+\))(?=\.py$)")
_RESERVED_ON_WINDOWS = re.compile(r"(?i)(con|prn|aux|nul|com\d|lpt\d)(\..*)?")


def student_id(name: str) -> str:
    """A student's id, safe as a file name everywhere, from the name of a folder or a file's stem.

    Letters and digits of every script stay; anything else but `-_.` becomes `_`.
    """
    if match := _MOODLE.fullmatch(name) or _CANVAS.fullmatch(name):
        name = f"{match['name']}_{match['user']}"
    return safe_id(name)


def safe_id(name: str) -> str:
    """What is an id already, or typed as one, as a safe file name; no platform's prefix is read."""
    name = unicodedata.normalize("NFC", name)
    name = "".join(char if char.isalnum() or char in "-_." else "_" for char in name)
    name = re.sub(r"_{2,}", "_", name).strip("-_. ")
    # 100 bytes leave room for the duplicate's suffix and ".json" in a name of 255.
    name = name.encode()[:MAX_ID_BYTES].decode(errors="ignore")
    if _RESERVED_ON_WINDOWS.fullmatch(name):
        name += "_"
    return name or "unnamed"


def within(folder: str, student: str) -> str:
    """The id of what lies in a folder; both are ids, so nothing in them is a platform's prefix."""
    return safe_id(f"{folder}_{student}")


def is_from_lms(name: str) -> bool:
    return bool(_MOODLE.fullmatch(name) or _CANVAS.fullmatch(name))


def module_name(name: str) -> str:
    """The name a loose module had before the learning platform renamed it: from
    `doejane_12_34_attention-1.py` to `attention.py`."""
    match = _MOODLE.fullmatch(name) or _CANVAS.fullmatch(name)
    original = (match["file"] or name) if match else name
    return _RESUBMITTED.sub("", original)
