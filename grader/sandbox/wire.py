"""Frames and values on the pipe between the grader and a worker.

A frame is a fixed header (length of the message, length of the numbers, nonce), a JSON message that
describes every value, and the raw numbers of its arrays one after another. Nothing in it can be
executed, and everything in it is bounded before memory is given to it. The same code runs on both
sides, so this file may import only the standard library and numpy: the sandbox has little else.
"""

import math
import struct
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from json import JSONDecoder, JSONEncoder
from types import FunctionType
from typing import Any

import numpy as np

NONCE_BYTES = 8
HEADER = struct.Struct(f"<IQ{NONCE_BYTES}s")
MAX_MESSAGE_BYTES = 1 << 20
MAX_DEPTH = 32
MAX_DIMENSIONS = 32
MAX_VALUES = 200_000
MAX_TEXT = 2000

_INTEGERS = [f"{sign}int{bits}" for sign in ("", "u") for bits in (8, 16, 32, 64)]
ARRAY_DTYPES = ("bool", *_INTEGERS, "float16", "float32", "float64")
# Native byte order only: the byte-swapped types compare unequal to these.
_NAME_OF = {np.dtype(name): name for name in ARRAY_DTYPES}
_DTYPE_OF = {name: dtype for dtype, name in _NAME_OF.items()}
_encode = JSONEncoder(separators=(",", ":")).encode
_decode = JSONDecoder().decode
Special = Callable[[Any], Any]


class WireError(ValueError):
    """A value cannot be sent, or the bytes that came are not a frame of this protocol."""


class TooLarge(WireError):
    """A value does not fit a frame; `size` is what it would take in bytes."""

    def __init__(self, size: int):
        super().__init__(f"{size} bytes do not fit one frame")
        self.size = size


@dataclass(frozen=True)
class UnsupportedArray:
    """Stands for an array the wire does not carry (object, string, complex, byte-swapped)."""

    dtype: str
    shape: tuple[int, ...]

    def described(self) -> str:
        """For messages to students (see assignment.harness.compare)."""
        return f"an array of dtype {self.dtype}"


def clean_text(text: str, limit: int = MAX_TEXT) -> str:
    """`text` cut to `limit` characters, with lone surrogates replaced so that it can be printed."""
    if len(text) > limit:
        text = text[:limit] + " ..."
    return text.encode("utf-8", "replace").decode("utf-8")


def is_plain_array(value: Any) -> bool:
    """True for an exact ndarray of a native number type: what the wire carries as it is."""
    return type(value) is np.ndarray and value.dtype in _NAME_OF


def pack(value: Any, arrays: list[np.ndarray], special: Special, depth: int = 0) -> Any:
    """Turn `value` into JSON and append its arrays to `arrays`, in the order of their mention.

    None, bool, int, float and str stand for themselves and a list for a list; everything else is a
    dict with one tag. `special` packs what only one side knows (handles, mapped files).
    """
    if value is None or value is True or value is False or type(value) in (str, float, int):
        return value
    if depth > MAX_DEPTH:
        raise WireError(f"a value is nested more than {MAX_DEPTH} deep")
    if isinstance(value, np.ndarray):
        return _pack_array(value, arrays, special)
    if isinstance(value, np.generic):
        return _pack_scalar(value, arrays)
    if isinstance(value, np.dtype):
        return {"y": _NAME_OF[value]} if value in _NAME_OF else special(value)
    if isinstance(value, type):
        name = getattr(value, "__name__", "").rstrip("_")
        known = name in _DTYPE_OF and issubclass(value, np.generic)
        return {"c": name} if known else special(value)
    if isinstance(value, tuple | list | dict):
        return _pack_container(value, arrays, special, depth + 1)
    # An IntEnum or a str subclass equals its plain value; the other side gets that plain value.
    for plain in (bool, int, float, str):
        if isinstance(value, plain):
            return getattr(plain, f"__{plain.__name__}__")(value)
    return special(value)


def _pack_container(
    value: tuple | list | dict, arrays: list[np.ndarray], special: Special, depth: int
) -> Any:
    """A container with everything in it, `depth` containers below the value that is packed."""
    if _has_methods_of_its_own(type(value)):
        return special(value)
    if isinstance(value, tuple):
        return {"t": [pack(v, arrays, special, depth) for v in tuple.__iter__(value)]}
    if isinstance(value, list):
        return [pack(v, arrays, special, depth) for v in list.__iter__(value)]
    items = dict.items(value)
    if all(isinstance(k, str) for k, _ in items):
        return {"d": {str.__str__(k): pack(v, arrays, special, depth) for k, v in items}}
    return special(value)


def _has_methods_of_its_own(kind: type) -> bool:
    """Whether a list, tuple or dict subclass is an object with a life of its own, such as a cache.

    A namedtuple or an OrderedDict is not: its contents are all there is to it.
    """
    for base in kind.__mro__:
        if base in (list, tuple, dict, object) or base.__module__ == "collections":
            continue
        if any(
            isinstance(m, FunctionType | property) and not n.startswith("_")
            for n, m in vars(base).items()
        ):
            return True
    return False


def _pack_array(value: np.ndarray, arrays: list[np.ndarray], special: Special) -> Any:
    if type(value) is not np.ndarray:
        return special(value)
    if not is_plain_array(value):
        return {"u": [str(value.dtype)[:100], list(value.shape)]}
    arrays.append(value if value.flags.c_contiguous else value.copy(order="C"))
    return {"a": [_NAME_OF[value.dtype], *value.shape]}


def _pack_scalar(value: np.generic, arrays: list[np.ndarray]) -> Any:
    if value.dtype not in _NAME_OF:
        return {"u": [str(value.dtype)[:100], []]}
    arrays.append(np.array(value))
    return {"s": [_NAME_OF[value.dtype]]}


class Unpacker:
    """Turns a received message and its numbers into plain values; every refusal is a WireError.

    `received` lists each array with a view of what it was in the frame.
    """

    def __init__(self, numbers: bytes | memoryview, special: Special):
        self.received: list[tuple[np.ndarray, np.ndarray]] = []
        self._numbers = numbers
        self._at = 0
        self._special = special
        self._left = MAX_VALUES

    def value(self, node: Any, depth: int = 0) -> Any:
        self._left -= 1
        if self._left < 0 or depth > MAX_DEPTH:
            raise WireError("a value has too many parts or is nested too deep")
        if node is None or type(node) in (bool, int, float):
            return node
        if type(node) is str:
            return clean_text(node, MAX_MESSAGE_BYTES)
        if type(node) is list:
            return [self.value(item, depth + 1) for item in node]
        if type(node) is not dict or len(node) != 1:
            raise WireError("a tagged value was expected")
        ((tag, content),) = node.items()
        return self._tagged(tag, content, depth)

    def _tagged(self, tag: str, content: Any, depth: int) -> Any:
        if tag == "a":
            return self._array(content)
        if tag == "s":
            return self._array(content)[()]
        if tag == "t" and type(content) is list:
            return tuple([self.value(item, depth + 1) for item in content])
        if tag == "d" and type(content) is dict:
            return {clean_text(k): self.value(v, depth + 1) for k, v in content.items()}
        if tag in ("y", "c") and type(content) is str and content in _DTYPE_OF:
            return _DTYPE_OF[content] if tag == "y" else _DTYPE_OF[content].type
        if tag == "u":
            return _unpack_unsupported(content)
        return self._special({tag: content})

    def _array(self, description: Any) -> np.ndarray:
        """The next array in the frame, copied: writable, aligned, and nobody else's."""
        dtype, shape = _array_description(description)
        count = math.prod(shape)
        end = self._at + count * dtype.itemsize
        if end > len(self._numbers):
            raise WireError("a message describes more numbers than its frame holds")
        try:
            view = np.frombuffer(self._numbers, dtype, count, self._at).reshape(shape)
        except ValueError as error:
            raise WireError(f"an array cannot have the shape {shape}") from error
        self._at = end
        # Bytes other than 0 and 1 are not booleans, and numpy computes nonsense with them.
        array = view.view(np.uint8).astype(bool) if dtype == np.bool_ else view.copy()
        self.received.append((array, view))
        return array


def _array_description(content: Any) -> tuple[np.dtype, list[int]]:
    if type(content) is not list or not 0 < len(content) <= MAX_DIMENSIONS + 1:
        raise WireError("an array description was expected")
    name, *shape = content
    if type(name) is not str or name not in _DTYPE_OF:
        raise WireError("an array has a type that is not carried")
    if not all(type(n) is int and 0 <= n < 1 << 40 for n in shape):
        raise WireError("an array has a shape that is not possible")
    return _DTYPE_OF[name], shape


def _unpack_unsupported(content: Any) -> UnsupportedArray:
    if type(content) is not list or len(content) != 2:
        raise WireError("an array description was expected")
    dtype, shape = content
    if type(dtype) is not str or type(shape) is not list or len(shape) > 64:
        raise WireError("an array description was expected")
    if not all(type(n) is int for n in shape):
        raise WireError("an array description was expected")
    return UnsupportedArray(clean_text(dtype, 100), tuple(shape))


def build_frame(nonce: bytes, message: Any, arrays: list[np.ndarray], limit: int) -> bytes:
    """One frame as bytes; TooLarge when message and numbers take more than `limit` bytes."""
    numbers = sum([a.nbytes for a in arrays])
    text = _encode(message).encode("ascii")
    if len(text) > MAX_MESSAGE_BYTES or len(text) + numbers > limit:
        raise TooLarge(len(text) + numbers)
    # 0-d and empty arrays have no usable buffer of their own.
    parts: list[Any] = [a if a.ndim and a.size else a.tobytes() for a in arrays]
    return b"".join([HEADER.pack(len(text), numbers, nonce), text, *parts])


def with_nonce(frame: bytes | memoryview, nonce: bytes) -> bytes:
    """The frame with its nonce set: a frame may be asked more than once."""
    return b"".join([frame[: HEADER.size - NONCE_BYTES], nonce, frame[HEADER.size :]])


def check_header(header: bytes | bytearray, nonce: bytes | None, limit: int) -> tuple[int, int]:
    """Lengths of message and numbers, after the bounds and the nonce (when given) were checked."""
    message_bytes, number_bytes, got = HEADER.unpack(header)
    if nonce is not None and got != nonce:
        raise WireError("a frame does not answer the open request")
    if message_bytes > MAX_MESSAGE_BYTES or message_bytes + number_bytes > limit:
        raise WireError(f"a frame announces {message_bytes + number_bytes} bytes")
    return message_bytes, number_bytes


class Incoming:
    """Takes the bytes of several replies as they come.

    Attributes:
        replies: of those that are whole the body, and how many of its bytes are the message.
    """

    def __init__(self, nonces: Sequence[bytes], limit: int) -> None:
        """Together they may take `limit` bytes."""
        self._nonces, self._left = nonces, limit
        self._bytes = bytearray()
        self.replies: list[tuple[bytes, int]] = []

    @property
    def is_complete(self) -> bool:
        return len(self.replies) == len(self._nonces)

    def add(self, part: bytes) -> None:
        """WireError where what came is not the next reply, or comes after the last."""
        self._bytes += part
        at = 0
        while not self.is_complete and len(self._bytes) - at >= HEADER.size:
            start = at + HEADER.size
            nonce = self._nonces[len(self.replies)]
            message_bytes, numbers = check_header(self._bytes[at:start], nonce, self._left)
            if len(self._bytes) < start + message_bytes + numbers:
                break
            at = start + message_bytes + numbers
            self._left -= message_bytes + numbers
            self.replies.append((bytes(self._bytes[start:at]), message_bytes))
        del self._bytes[:at]
        if self.is_complete and self._bytes:
            raise WireError("more was sent than was asked for")


def parse_body(body: bytes, message_bytes: int) -> tuple[Any, memoryview]:
    """The JSON message and the numbers of one frame's body."""
    try:
        message = _decode(body[:message_bytes].decode("ascii"))
    except (ValueError, RecursionError) as error:
        raise WireError("a frame does not hold a JSON message") from error
    return message, memoryview(body)[message_bytes:]
