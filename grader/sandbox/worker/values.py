"""Objects, mapped files and arrays that stand behind the values of a call."""

import inspect
import json
import mmap

import numpy as np

from .. import wire


class Objects:
    """Objects the parent holds by number, and files it mapped."""

    def __init__(self, mapped: dict[str, int]) -> None:
        """`mapped` has the descriptors of the files, by name."""
        self._mapped = mapped
        self._held: dict[int, object] = {}
        self._next = 1
        self._files: dict[str, dict[str, np.ndarray]] = {}

    def pack(self, value):
        number = self._next
        self._next += 1
        self._held[number] = value
        return {"h": [number, wire.clean_text(type(value).__name__, 100), callable(value)]}

    def unpack(self, node):
        ((tag, content),) = node.items()
        if tag == "h":
            return self._held[content]
        if tag == "m":
            return dict(self._file(content))
        raise wire.WireError(f"unknown tag {tag}")

    def forget(self) -> None:
        """No object of an earlier test is asked for again; the next one is number 1."""
        self._held.clear()
        self._next = 1

    def _file(self, name: str) -> dict[str, np.ndarray]:
        if name not in self._files:
            self._files[name] = map_tensors(self._mapped[name])
        return self._files[name]


NUMPY_NAMES = {"F64": "<f8", "F32": "<f4", "F16": "<f2", "I64": "<i8", "I32": "<i4", "BOOL": "?"}


def map_tensors(fd: int) -> dict[str, np.ndarray]:
    """Read-only arrays on the pages of an open safetensors file; nothing is copied."""
    pages = mmap.mmap(fd, 0, access=mmap.ACCESS_READ)
    start = 8 + int.from_bytes(pages[:8], "little")
    header = json.loads(pages[8:start])
    header.pop("__metadata__", None)
    arrays = {}
    for name, entry in header.items():
        dtype = np.dtype(NUMPY_NAMES[entry["dtype"]])
        count = (entry["data_offsets"][1] - entry["data_offsets"][0]) // dtype.itemsize
        flat = np.frombuffer(pages, dtype, count, start + entry["data_offsets"][0])
        arrays[name] = flat.reshape(entry["shape"])
    return arrays


class Watched:
    """Remembers the arrays handed to a call, to tell afterwards which were changed."""

    def __init__(self, args: list, kwargs: dict, received: list):
        self._arguments = [*enumerate(args), *kwargs.items()]
        self._received = received

    def changed(self, function) -> list[str]:
        changed = {id(now) for now, before in self._received if differs(now, before)}
        if not changed:
            return []
        places = [
            (index, path)
            for index, argument in self._arguments
            for path, array in arrays_in(argument)
            if id(array) in changed
        ]
        names = parameter_names(function)
        named = [names[i] if isinstance(i, int) and i < len(names) else str(i) for i, _ in places]
        return [f"{name}{path}" for name, (_, path) in zip(named, places, strict=True)][:50]


def arrays_in(argument):
    """(place, array) for an argument that is an array or holds arrays one level deep."""
    if type(argument) is np.ndarray:
        yield "", argument
    elif type(argument) in (list, tuple):
        for i, item in enumerate(argument):
            if type(item) is np.ndarray:
                yield f"[{i}]", item
    elif type(argument) is dict:
        for key, item in argument.items():
            if type(item) is np.ndarray:
                yield f"[{key!r}]", item


def differs(now: np.ndarray, before: np.ndarray) -> bool:
    """Bit for bit, so that NaN equals NaN and -0.0 differs from 0.0."""
    if now.shape != before.shape or now.dtype != before.dtype:
        return True
    return now.tobytes() != before.tobytes()


def parameter_names(function) -> list[str]:
    try:
        return list(inspect.signature(function).parameters)
    except (TypeError, ValueError):
        return []
