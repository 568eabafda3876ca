"""Values and frames on the pipe: what arrives is what was sent, and nothing else is accepted."""

import json
import math
import os
import threading
import time
from dataclasses import dataclass, field, replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from grader.sandbox import wire
from grader.sandbox.clock import OwnTime, Usage, WorkerBooks, WorkerClock
from grader.sandbox.problems import WorkerTimeout
from grader.sandbox.processes import Thread

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


# ---- Whose time passes: a stand-in for the kernel's books, and the real ones

MAIN, OTHER = 7, 8


@dataclass
class Machine:
    """A machine whose clock and books a test moves by hand.

    `late` books show a wait only when it is over, as Linux does.
    """

    now: float = 100.0
    cpu: float = 3.0
    held_up: float = 0.0
    threads: dict[int, Thread] = field(default_factory=lambda: {MAIN: Thread(False, 5, 3.0, 1.0)})
    readable: bool = True

    def usage(self) -> Usage | None:
        return Usage(self.cpu, dict(self.threads)) if self.readable else None

    def clock(self) -> WorkerClock:
        return WorkerClock(self.usage, lambda: self.now, lambda: self.held_up)

    def passes(self, seconds: float) -> None:
        self.now += seconds

    def runs(self, seconds: float, number: int = MAIN) -> None:
        """A thread runs; the time must `pass` besides, as several may run at once."""
        self.cpu += seconds
        thread = self.threads.get(number, Thread(False, 0, 0.0, 0.0))
        self.threads[number] = replace(thread, turns=thread.turns + 1, ran=thread.ran + seconds)

    def gets_a_core(self, waited: float, number: int = MAIN) -> None:
        thread = self.threads[number]
        self.threads[number] = replace(
            thread, turns=thread.turns + 1, waited=thread.waited + waited
        )

    def is_runnable(self, runnable: bool, number: int = MAIN) -> None:
        self.threads[number] = replace(self.threads[number], is_runnable=runnable)


def patience(clock: WorkerClock, computing=5.0, sleeping=10.0, in_all=90.0) -> OwnTime:
    waiting = OwnTime(clock, computing, sleeping, in_all)
    clock.look()  # the first, from which on is measured
    return waiting


def lasts(machine: Machine, waiting: OwnTime, step, at_most: int = 1000) -> int | None:
    """After how many steps of 0.1 s patience ends; None when it does not."""
    for number in range(1, at_most + 1):
        step()
        machine.passes(0.1)
        try:
            waiting.check()
        except WorkerTimeout:
            return number
    return None


def test_computing_ends_after_so_much_processor_time():
    machine = Machine()
    waiting = patience(machine.clock())
    assert lasts(machine, waiting, lambda: machine.runs(0.1)) in range(50, 57)
    assert not waiting.is_sleep_over and not waiting.is_in_all_over


def test_sleep_ends_after_so_much_wall_time():
    machine = Machine()
    waiting = patience(machine.clock())
    assert lasts(machine, waiting, lambda: None) in range(100, 110)
    assert waiting.is_sleep_over


def test_a_starved_worker_goes_on():
    """It gets a fiftieth of a core: five seconds of work take four minutes, and none is its own."""
    machine = Machine()
    machine.is_runnable(True)

    def step():
        machine.runs(0.002)
        machine.gets_a_core(0.098)

    clock = machine.clock()
    waiting = patience(clock)
    assert lasts(machine, waiting, step, at_most=2400) is None
    assert clock.slept == pytest.approx(0, abs=0.01)
    assert clock.end() == pytest.approx(4.8, abs=0.01), "what it computed and no more is charged"


def test_a_wait_that_is_not_over_is_no_sleep_though_the_books_do_not_show_it_yet():
    machine = Machine()
    machine.is_runnable(True)
    clock = machine.clock()
    waiting = patience(clock)
    assert lasts(machine, waiting, lambda: None, at_most=600) is None
    machine.gets_a_core(60.0)  # now they do; it must not count twice
    machine.is_runnable(False)
    assert lasts(machine, waiting, lambda: None) in range(100, 110)


def test_waking_for_a_moment_at_every_look_is_sleep():
    """One byte at a time wakes the grader just when the worker runs; its books are no fuller."""
    machine = Machine()

    def drip():
        machine.runs(0.0001)
        machine.is_runnable(True)

    assert lasts(machine, patience(machine.clock()), drip) in range(100, 110)


def test_a_thread_that_spins_while_the_main_one_sleeps_is_computing():
    machine = Machine()
    waiting = patience(machine.clock())
    assert lasts(machine, waiting, lambda: machine.runs(0.1, OTHER)) in range(50, 57)
    assert not waiting.is_sleep_over


def test_threads_count_each_also_those_that_have_ended():
    machine = Machine()

    def step():
        machine.cpu += 0.4  # of threads that came and went between two looks

    clock = machine.clock()
    assert lasts(machine, patience(clock), step) in range(13, 19)
    assert clock.slept == 0.0


def test_busy_threads_buy_no_sleep_for_later():
    """Eight threads that wait for each other are eight times as busy, and no richer for it."""
    machine = Machine()
    waiting = patience(machine.clock(), computing=50.0)

    def crowd():
        for number in range(20, 28):
            machine.runs(0.0125, number)
            machine.gets_a_core(0.0875, number)

    assert lasts(machine, waiting, crowd, at_most=100) is None
    assert lasts(machine, waiting, lambda: None) in range(100, 110)


def test_what_the_grader_itself_waits_for_a_core_is_not_the_workers_sleep():
    machine = Machine()

    def step():
        machine.held_up += 0.09

    assert lasts(machine, patience(machine.clock()), step, 1100) == pytest.approx(1000, abs=6)


def test_all_calls_share_a_budget_of_both():
    machine = Machine()
    waiting = patience(machine.clock(), in_all=2.0)

    def step():
        machine.runs(0.05)

    assert lasts(machine, waiting, step) in range(20, 26)
    assert waiting.is_in_all_over


def test_many_short_calls_are_charged():
    machine = Machine()
    clock = machine.clock()
    charged = 0.0
    for _ in range(1000):
        clock.begin()
        machine.runs(0.005)
        machine.passes(0.005)
        charged += clock.end()
    assert charged == pytest.approx(5.0, abs=0.6)


def test_what_happens_between_calls_is_charged_and_ends_no_call():
    machine = Machine()
    clock = machine.clock()
    machine.runs(20.0, OTHER)
    machine.passes(20.0)
    waiting = patience(clock)
    machine.passes(0.1)
    waiting.check()
    assert clock.computed == 0.0
    assert clock.end() == pytest.approx(20.1)


def test_without_books_all_wall_time_counts_as_computed():
    machine = Machine(readable=False)
    clock = machine.clock()
    waiting = patience(clock)
    assert lasts(machine, waiting, lambda: None) in range(50, 57)
    assert clock.end() == pytest.approx(5.0, abs=0.2)


def test_a_worker_that_has_ended_is_waited_for_until_its_pipes_say_so():
    machine = Machine()
    waiting = patience(machine.clock())
    machine.readable = False
    assert lasts(machine, waiting, lambda: None) is None


# --- the kernel's own books ----------------------------------------------------------------------


@pytest.mark.skipif(WorkerBooks(os.getpid())() is None, reason="there is no /proc here")
def test_the_books_of_this_system_tell_computing_from_sleep():
    clock = WorkerClock(WorkerBooks(os.getpid()))
    clock.look()
    end = time.thread_time() + 0.3
    while time.thread_time() < end:
        pass
    clock.look()
    assert clock.computed >= 0.25
    slept = clock.slept
    time.sleep(0.3)
    clock.look()
    assert clock.slept > slept


@pytest.mark.skipif(WorkerBooks(os.getpid())() is None, reason="there is no /proc here")
def test_the_books_count_threads_and_know_no_process_that_is_gone():
    before = WorkerBooks(os.getpid())()
    done = threading.Event()
    thread = threading.Thread(target=done.wait)
    thread.start()
    assert len(WorkerBooks(os.getpid())().threads) == len(before.threads) + 1
    done.set()
    thread.join()
    assert WorkerBooks(None)() is None
    child = os.fork()
    if child == 0:
        os._exit(0)
    os.waitpid(child, 0)
    assert WorkerBooks(child)() is None
