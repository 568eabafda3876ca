"""Values and frames on the pipe: what arrives is what was sent, and nothing else is accepted."""

import json
import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from grader.sandbox import wire

NONCE = b"12345678"
LIMIT = 1 << 20

dtypes = st.sampled_from([np.dtype(name) for name in wire.ARRAY_DTYPES])
shapes = hnp.array_shapes(min_dims=0, max_dims=4, min_side=0, max_side=4)
arrays = dtypes.flatmap(lambda dtype: hnp.arrays(dtype, shapes))
scalars = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(-(2**70), 2**70),
    st.floats(),
    st.text(st.characters(exclude_categories=["Cs"])),
)
values = st.recursive(
    scalars | arrays | dtypes | dtypes.map(lambda d: d.type) | arrays.map(lambda a: a.sum()),
    lambda inner: (
        st.lists(inner, max_size=4)
        | st.lists(inner, max_size=4).map(tuple)
        | st.dictionaries(st.text(st.characters(exclude_categories=["Cs"])), inner, max_size=4)
    ),
    max_leaves=10,
)


def refuse(node):
    raise wire.WireError(f"not plain: {node}")


def send(value, special=refuse):
    """`value` after a trip through a frame."""
    packed = []
    message = wire.pack(value, packed, special)
    frame = wire.build_frame(NONCE, message, packed, LIMIT)
    return receive(frame)


def receive(frame: bytes, special=refuse):
    size = wire.HEADER.size
    message_bytes, number_bytes = wire.check_header(frame[:size], NONCE, LIMIT)
    assert len(frame) == size + message_bytes + number_bytes
    message, numbers = wire.parse_body(frame[size:], message_bytes)
    return wire.Unpacker(numbers, special).value(message)


def frame_of(message, numbers: bytes = b"") -> bytes:
    text = json.dumps(message).encode()
    return wire.HEADER.pack(len(text), len(numbers), NONCE) + text + numbers


def same(a, b) -> bool:
    if isinstance(a, np.ndarray | np.generic):
        return (
            type(a) is type(b)
            and a.dtype == b.dtype
            and a.shape == b.shape
            and a.tobytes() == b.tobytes()
        )
    if isinstance(a, list | tuple):
        return type(a) is type(b) and len(a) == len(b) and all(map(same, a, b))
    if isinstance(a, dict):
        return list(a) == list(b) and all(same(a[k], b[k]) for k in a)
    if isinstance(a, float):
        nan = math.isnan(a) and math.isnan(b)
        return type(b) is float and (nan or (a == b and math.copysign(1, a) == math.copysign(1, b)))
    return type(a) is type(b) and a == b


@settings(max_examples=150, deadline=None)
@given(values)
def test_a_value_arrives_as_it_was_sent(value):
    assert same(value, send(value))


@given(hnp.arrays(np.float64, hnp.array_shapes(min_dims=2, max_dims=3)))
@settings(max_examples=30, deadline=None)
def test_strides_do_not_matter(array):
    for view in (array.T, array[::-1], array[..., ::2], np.asfortranarray(array)):
        arrived = send(view)
        assert same(np.ascontiguousarray(view), arrived)
        assert arrived.flags.c_contiguous and arrived.flags.writeable and arrived.flags.owndata


def test_arrays_of_other_types_are_described_and_not_sent():
    cases = [
        np.array([object(), None]),
        np.array(["text"]),
        np.zeros(2, dtype=[("a", int)]),
        np.zeros(3, dtype=">f8"),
        np.zeros(1, dtype=complex),
        np.zeros(2, dtype="datetime64[s]"),
    ]
    for array in cases:
        assert send(array) == wire.UnsupportedArray(str(array.dtype), array.shape)


@pytest.mark.filterwarnings("ignore:the matrix subclass")
def test_ndarray_subclasses_are_not_taken_for_arrays():
    class Own(np.ndarray):
        pass

    for value in (np.matrix([[1.0]]), np.ma.array([1.0]), np.zeros(2).view(Own)):
        with pytest.raises(wire.WireError, match="not plain"):
            send(value)


def test_plain_parts_of_subclasses_arrive_as_plain_values():
    class Length(int):
        pass

    class Name(str):
        pass

    class Row(tuple):
        pass

    arrived = send([Length(3), Name("a"), Row((1, 2))])
    assert arrived == [3, "a", (1, 2)]
    assert [type(v) for v in arrived] == [int, str, tuple]
    by_name = send({Name("w_q"): Length(7)})
    assert by_name == {"w_q": 7}
    assert type(*by_name) is str


def test_lone_surrogates_are_replaced():
    assert send("a\ud800b") == "a?b"


def test_bytes_that_are_no_booleans_become_booleans():
    arrived = receive(frame_of({"a": ["bool", 3]}, b"\x00\x01\x07"))
    assert arrived.tobytes() == b"\x00\x01\x01"


@pytest.mark.parametrize(
    ("message", "numbers"),
    [
        ({"a": ["float64", 2]}, b"\0" * 15),
        ({"a": ["float64", 2**39, 2**39]}, b""),
        ({"a": ["float64", 0, 2**39, 2**39, 2**39]}, b""),
        ({"a": ["float64", -1]}, b""),
        ({"a": ["float64", 1.0]}, b"\0" * 8),
        ({"a": ["float64", True]}, b"\0" * 8),
        ({"a": ["object", 1]}, b"\0" * 8),
        ({"a": ["O", 1]}, b"\0" * 8),
        ({"a": ["float64"] + [1] * 40}, b"\0" * 8),
        ({"a": []}, b""),
        ({"a": "float64"}, b""),
        ({"a": ["float64"], "s": ["float64"]}, b"\0" * 16),
        ({"t": {"x": 1}}, b""),
        ({"d": [1]}, b""),
        ({"y": "object"}, b""),
        ({"c": "__import__"}, b""),
        ({"u": ["float64", ["1"]]}, b""),
        ({"h": 7}, b""),
        ({}, b""),
    ],
)
def test_impossible_descriptions_are_refused(message, numbers):
    with pytest.raises(wire.WireError):
        receive(frame_of(message, numbers))


@pytest.mark.parametrize(
    "text",
    [
        b"",
        b"nonsense",
        b'"\xff"',
        b"[" * 100_000,
        b"[" * 40 + b"]" * 40,
        b"9" * 5000,
        b"[" + b"0," * 300_000 + b"0]",
    ],
)
def test_texts_that_are_no_message_are_refused(text):
    with pytest.raises(wire.WireError):
        receive(wire.HEADER.pack(len(text), 0, NONCE) + text)


@pytest.mark.parametrize(
    "header",
    [
        wire.HEADER.pack(2**32 - 1, 0, NONCE),
        wire.HEADER.pack(0, 2**64 - 1, NONCE),
        wire.HEADER.pack(10, LIMIT - 9, NONCE),
        wire.HEADER.pack(2, 0, b"87654321"),
    ],
)
def test_headers_are_checked_before_anything_is_read(header):
    with pytest.raises(wire.WireError):
        wire.check_header(header, NONCE, LIMIT)


def test_what_does_not_fit_is_refused_with_its_size():
    with pytest.raises(wire.TooLarge) as caught:
        send(np.zeros(LIMIT))
    assert caught.value.size > LIMIT * 8
    with pytest.raises(wire.TooLarge):
        send("x" * (LIMIT + 1))


def test_a_list_that_holds_itself_is_refused():
    endless = []
    endless.append(endless)
    with pytest.raises(wire.WireError, match="nested"):
        send(endless)
