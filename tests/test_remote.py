"""The remote student: calls, values, exceptions, and every way a submission can misbehave."""

import contextlib
import gc
import json
import os
import select
import threading
from pathlib import Path

import numpy as np
import pytest
from safetensors.numpy import save_file
from sandbox_support import RUNNER, SLOT, require_bubblewrap, start, write_submission

from assignment.harness.student import ImportFailure
from grader.base.words import speaking
from grader.sandbox import Limits, SandboxUnavailable, choose_sandbox
from grader.sandbox.objects import RemoteObject
from grader.sandbox.problems import (
    BudgetExhausted,
    OutputTooLarge,
    ProtocolViolation,
    StudentException,
    SubmissionProblem,
    WorkerDied,
    WorkerTimeout,
    student_exception,
)
from grader.sandbox.remote import RemoteStudent
from grader.sandbox.wire import UnsupportedArray, WireError

SANDBOX = require_bubblewrap()

HONEST = """
import collections, enum
import numpy as np

def softmax(x, axis=-1):
    e = np.exp(x - x.max(axis, keepdims=True))
    return e / e.sum(axis, keepdims=True)

def echo(*args, **kwargs):
    return args, kwargs

def describe(x):
    return [type(x).__name__, str(x.dtype), x.shape, x.flags.c_contiguous, x.flags.writeable]

def change(x, y, params):
    x[0] = 7
    params["w"] += 1

class KVCache:
    def __init__(self, n_layers, dtype=np.float64):
        self.length = 0
        self.dtype = np.dtype(dtype)
        self.inner = np.zeros(n_layers, dtype)

    def append(self, layer, k):
        self.length += k.shape[0]
        return k, self.inner

    def __len__(self):
        return self.length

    def __getitem__(self, i):
        return self.inner[i]

    def __iter__(self):
        while True:
            yield 1

def length_of(cache):
    return cache.length if isinstance(cache, KVCache) else "no cache"

def total(params):
    return {k: float(v.sum()) for k, v in params.items()}

def write_to(params):
    params["w"][0] = 1

def returns(kind):
    return {
        "matrix": lambda: np.matrix([[1.0]]),
        "masked": lambda: np.ma.array([1.0], mask=[True]),
        "object": lambda: np.array([object()]),
        "ordered": lambda: collections.OrderedDict(a=1),
        "named": lambda: collections.namedtuple("Pair", "k v")(1, 2),
        "generator": lambda: (i for i in range(3)),
        "list cache": lambda: type("Cache", (list,), {"length": property(lambda self: 7)})(),
        "dict cache": lambda: type("Cache", (dict,), {"length": property(lambda self: 7)})(),
        "tuple cache": lambda: type("Cache", (tuple,), {"length": property(lambda self: 7)})(),
        "large": lambda: np.zeros(9 << 20),
        "long": lambda: list(range(300_000)),
        "huge": lambda: 10**5000,
        "float16": lambda: np.float16(1.5),
        "complex": lambda: np.ones(2, complex),
    }[kind]()

def fail(name):
    if name == "axis":
        raise np.exceptions.AxisError("no axis 7")
    if name == "own":
        class Own(Exception): pass
        raise Own("mine")
    if name == "unreadable":
        class Mute(Exception):
            def __str__(self): raise RuntimeError
        raise Mute
    if name == "pytest":
        class Skipped(BaseException): pass
        raise Skipped("please")
    if name == "key":
        {}["missing"]
    if name == "unicode":
        b"\\xff".decode()
    if name == "deep":
        return fail("deep")
    if name == "long":
        raise ValueError("x" * 100_000)
    import builtins
    raise getattr(builtins, name)("as asked")

def patch_numpy():
    np.allclose = np.array_equal = lambda *a, **k: True
    return np.allclose(1, 2)
"""
HONEST_NAMES = [
    *("softmax", "echo", "describe", "change", "KVCache", "length_of", "total", "write_to"),
    *("returns", "fail", "patch_numpy", "not_there"),
]


@pytest.fixture(scope="module")
def weights(tmp_path_factory):
    path = tmp_path_factory.mktemp("weights") / "tiny.safetensors"
    save_file({"w": np.arange(6, dtype=np.float32), "b": np.ones((2, 3))}, path)
    return path


@pytest.fixture(scope="module")
def honest(tmp_path_factory, weights):
    folder = write_submission(tmp_path_factory.mktemp("honest"), attention=HONEST)
    modules = dict.fromkeys(HONEST_NAMES, "attention")
    with RemoteStudent(
        SANDBOX, folder, slot=SLOT, mapped={"tiny": weights}, modules=modules
    ) as student:
        yield student


@pytest.fixture
def hostile(tmp_path):
    """Makes students whose `run` executes what it is told; closes them."""
    students = []

    def make(**limits) -> RemoteStudent:
        folder = tmp_path / f"s{len(students)}"
        write_submission(folder, attention=RUNNER)
        students.append(start(folder, SANDBOX, **{"call_seconds": 5, **limits}))
        return students[-1]

    yield make
    for student in students:
        student.close()


# --- honest calls --------------------------------------------------------------------------------


def test_a_function_computes_there_and_its_value_is_ours(honest):
    x = np.linspace(0, 1, 24).reshape(2, 3, 4)
    result = honest.softmax(x, axis=1)
    assert type(result) is np.ndarray and result.flags.owndata and result.flags.writeable
    np.testing.assert_allclose(result.sum(1), np.ones((2, 4)), rtol=1e-12)


def test_arguments_of_every_kind_come_back_as_they_went(honest):
    args = (None, True, -1, 2.5, "文", [1, [2]], (3, "x"), {"a": (1,)}, np.float32(1.5))
    returned, keywords = honest.echo(*args, dtype=np.dtype("float32"), kind=np.float64)
    assert returned == args
    assert [type(r) for r in returned] == [type(a) for a in args]
    assert keywords == {"dtype": np.dtype("float32"), "kind": np.float64}


def test_special_numbers_and_odd_layouts_arrive_right(honest):
    base = np.arange(24.0).reshape(4, 6)
    base[0, :4] = [np.nan, np.inf, -np.inf, -0.0]
    for array in (base.T, base[::-1, ::2], np.asfortranarray(base), base[:0], np.float64(3) * 1):
        ((back,), _) = honest.echo(array)
        assert back.shape == array.shape and back.tobytes() == array.tobytes()
    assert honest.describe(base.T) == ["ndarray", "float64", (6, 4), True, True]


def test_objects_stay_there_and_answer(honest):
    cache = honest.KVCache(3, dtype=np.float32)
    assert isinstance(cache, RemoteObject) and repr(cache) == "<KVCache of the submission>"
    k = np.ones((2, 5))
    back, inner = cache.append(0, k)
    assert np.array_equal(back, k) and inner.dtype == np.float32
    assert (cache.length, len(cache), cache[1]) == (2, 2, 0.0)
    assert honest.length_of(cache) == 2
    assert cache.dtype == np.dtype("float32")
    with pytest.raises(AttributeError, match="no attribute 'nothing'"):
        _ = cache.nothing
    with pytest.raises(TypeError):
        iter(cache)
    with pytest.raises(TypeError, match="neither true nor false"):
        bool(cache)
    with pytest.raises(TypeError):
        np.asarray(cache)


def test_objects_of_the_test_before_are_forgotten_on_both_sides(honest):
    cache = honest.KVCache(1)
    honest.begin_test()
    with pytest.raises(WorkerDied, match="held this KVCache was stopped"):
        honest.length_of(cache)
    honest.softmax(np.zeros(2))
    forged = RemoteObject(honest, honest._generation, cache._number, "KVCache")
    with pytest.raises(KeyError):
        honest.length_of(forged)


def test_changed_inputs_are_reported_and_ours_are_untouched(honest):
    x, y, w = np.zeros(3), np.ones(2), np.full(2, np.nan)
    honest.change(x, y=y, params={"w": np.zeros(2), "v": w})
    assert honest.last_call_mutated == ["x", "params['w']"]
    assert not x.any()
    honest.softmax(y)
    assert honest.last_call_mutated == []


def test_mapped_parameters_are_read_only_and_not_copied_over(honest):
    assert honest.total(honest.mapped_params("tiny")) == {"w": 15.0, "b": 6.0}
    with pytest.raises(ValueError, match="read-only"):
        honest.write_to(honest.mapped_params("tiny"))
    with pytest.raises(KeyError, match="no file is mapped"):
        honest.mapped_params("other")


@pytest.mark.parametrize(
    ("kind", "type_name"),
    [("matrix", "matrix"), ("masked", "MaskedArray")],
)
def test_what_is_not_a_plain_value_is_a_remote_object(honest, kind, type_name):
    result = honest.returns(kind)
    assert isinstance(result, RemoteObject) and type_name in repr(result)


def test_plain_subclasses_are_plain_and_other_arrays_are_described(honest):
    assert honest.returns("ordered") == {"a": 1}
    assert honest.returns("named") == (1, 2)
    assert honest.returns("generator") == (0, 1, 2)
    for kind in ("list cache", "dict cache", "tuple cache"):
        cache = honest.returns(kind)
        assert isinstance(cache, RemoteObject) and cache.length == 7
    assert honest.returns("object") == UnsupportedArray("object", (1,))
    assert honest.returns("complex") == UnsupportedArray("complex128", (2,))
    half = honest.returns("float16")
    assert type(half) is np.float16 and half == 1.5


def test_too_large_results_are_refused_and_the_worker_goes_on(honest):
    for kind in ("large", "long"):
        with pytest.raises(OutputTooLarge, match="returns returned"):
            honest.returns(kind)
    with pytest.raises(ValueError):
        honest.returns("huge")
    assert honest.length_of(3) == "no cache"


def test_unknown_names_are_not_sent(honest):
    with pytest.raises(AttributeError, match="interface has no flash_attention"):
        _ = honest.flash_attention
    with pytest.raises(TypeError, match="a set cannot be passed"):
        honest.echo({1})


def test_a_patched_numpy_stays_there(honest):
    assert honest.patch_numpy() is True
    assert not np.allclose(1, 2) and not np.array_equal([1], [2])


# --- exceptions ----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "name", ["NotImplementedError", "ValueError", "AssertionError", "OSError", "RecursionError"]
)
def test_builtin_exceptions_are_raised_as_themselves(honest, name):
    with pytest.raises(Exception, match="as asked") as caught:
        honest.fail(name)
    assert type(caught.value).__name__ == name
    assert caught.value.student_where.startswith("attention.py:")
    assert caught.value.student_where.endswith(" in fail")


@pytest.mark.parametrize(
    ("name", "type_name", "kind"),
    [
        ("axis", "AxisError", ValueError),
        ("own", "Own", StudentException),
        ("unreadable", "Mute", StudentException),
        ("pytest", "Skipped", StudentException),
        ("unicode", "UnicodeDecodeError", StudentException),
        ("SystemExit", "SystemExit", StudentException),
        ("KeyboardInterrupt", "KeyboardInterrupt", StudentException),
        ("StopIteration", "StopIteration", StudentException),
    ],
)
def test_other_exceptions_name_their_class_and_stay_harmless(honest, name, type_name, kind):
    with pytest.raises(kind) as caught:
        honest.fail(name)
    assert isinstance(caught.value, StudentException)
    assert caught.value.type_name == type_name


def test_messages_are_bounded_and_endless_recursion_is_an_exception(honest):
    with pytest.raises(ValueError) as caught:
        honest.fail("long")
    assert len(str(caught.value)) < 2100
    with pytest.raises(RecursionError):
        honest.fail("deep")
    with pytest.raises(KeyError, match="missing"):
        honest.fail("key")


def test_a_missing_function_says_so(honest):
    with pytest.raises(NotImplementedError, match=r"not_there is not defined in attention\.py"):
        honest.not_there()


def test_a_module_that_cannot_be_imported_fails_only_its_own_functions(tmp_path):
    folder = write_submission(
        tmp_path / "s",
        attention="from .rope import turn\ndef softmax():\n    return turn()\n",
        rope="import rope_helper\ndef turn():\n    return rope_helper.ONE\n",
        rope_helper="ONE = 1",
        kv_cache="x = 1\ndef generate(:\n    pass\n",
        gqa="import sys\nsys.exit(3)\n",
        mla="import torch\n",
        sampling="from attention import softmax\nimport assignment.attention as a\n"
        "def top_k():\n    return a.softmax is softmax\n",
    )
    modules = {"softmax": "attention", "generate": "kv_cache", "grouped": "gqa", "absorb": "mla"}
    modules["top_k"] = "sampling"
    with RemoteStudent(SANDBOX, folder, slot=SLOT, modules=modules) as student:
        for _ in range(2):
            with pytest.raises(ImportError, match=r"^kv_cache\.py line 2 is not valid Python"):
                student.generate()
            with pytest.raises(ImportError, match=r"importing gqa\.py ends the program"):
                student.grouped()
            with pytest.raises(ImportError, match=r"importing mla\.py failed: .*'torch'"):
                student.absorb()
        with speaking("zh"):  # the worker sends facts
            with pytest.raises(ImportError, match=r"^kv_cache\.py 第 2 行不是合法的 Python"):
                student.generate()
            with pytest.raises(ImportError, match=r"^导入 gqa\.py 时程序就退出了"):
                student.grouped()
            with pytest.raises(ImportError, match=r"导入 mla\.py 失败.*；这里只装了 numpy"):
                student.absorb()
        assert student.softmax() == 1
        assert student.top_k() is True


NO_PYTHON = {
    "kind": "not_python",
    "module": "gqa",
    "file": "gqa.py",
    "line": 3,
    "exception": "SyntaxError",
    "problem": "it is not",
}


def import_report(**changes) -> dict:
    failure = {name: v for name, v in (NO_PYTHON | changes).items() if v is not ...}
    return {"type": "ImportError", "message": "", "where": "", "bases": [], "import": failure}


def test_what_a_worker_says_of_an_import_is_bounded():
    hostile = "\ud800" + "x" * 10**6
    long = import_report(file=hostile, module=hostile, problem=hostile, line=-(10**30))
    error = student_exception(long | {"message": hostile, "where": hostile})
    assert type(error) is ImportError and len(str(error)) < 2100
    assert len(error.failure.file) < 110 and len(error.failure.problem) < 2100
    assert error.failure.file.startswith("?x") and error.failure.line == 0
    assert student_exception(import_report(line=10**30)).failure.line == 10**6
    assert student_exception(import_report()).failure == ImportFailure(**NO_PYTHON)


@pytest.mark.parametrize(
    "changes",
    [
        {"kind": "made_up"},
        {"kind": ["not_python"]},
        {"kind": ...},
        {"file": None},
        {"module": 3},
        {"problem": ...},
        {"line": True},
        {"line": 3.5},
        {"line": "3"},
    ],
)
def test_what_a_worker_says_of_an_import_has_its_kinds_and_types(changes):
    with pytest.raises(WireError):
        student_exception(import_report(**changes))


@pytest.mark.parametrize("report", [None, [], "gqa.py line 3 is not valid Python", 7])
def test_an_import_that_is_no_report_is_refused(report):
    with pytest.raises(WireError):
        student_exception(import_report() | {"import": report})


def test_an_exception_that_speaks_like_a_failed_import_is_none(tmp_path):
    """Nor do odd syntax errors of a submission's own making stop the worker."""
    folder = write_submission(
        tmp_path / "s",
        attention="def softmax(): raise ImportError('gqa.py line 3 is not valid Python: no')",
        kv_cache="error = SyntaxError('odd')\nerror.filename, error.lineno = 7, 'x'\nraise error\n",
        gqa="raise SyntaxError\n",
    )
    modules = {"softmax": "attention", "generate": "kv_cache", "grouped": "gqa"}
    with RemoteStudent(SANDBOX, folder, slot=3, modules=modules) as student:
        with pytest.raises(ImportError, match=r"gqa\.py line 3") as spoken:
            student.softmax()
        assert not hasattr(spoken.value, "failure")
        for name, file, problem in (
            ("generate", "kv_cache.py", "odd"),
            ("grouped", "gqa.py", "None"),
        ):
            with pytest.raises(ImportError, match="is not valid Python") as odd:
                getattr(student, name)()
            failure = odd.value.failure
            assert (failure.file, failure.line, failure.problem) == (file, None, problem)


# --- notebooks -----------------------------------------------------------------------------------

STUB = 'def {0}():\n    raise NotImplementedError("Part 1: write {0}")\n'


def notebook(tmp_path, cells: list[str]) -> RemoteStudent:
    folder = write_submission(
        tmp_path / "nb",
        attention=STUB.format("softmax") + STUB.format("causal_mask"),
        rope=STUB.format("apply_rope"),
    )
    (folder / "assignment" / "notebook_cells.json").write_text(json.dumps(cells))
    modules = {"softmax": "attention", "causal_mask": "attention", "apply_rope": "rope"}
    return RemoteStudent(SANDBOX, folder, slot=SLOT, modules=modules)


def test_notebook_cells_share_one_namespace_and_win_over_the_stubs(tmp_path):
    cells = [
        "%matplotlib inline\n!pip install x\nimport matplotlib.pyplot as plt\nimport math\n",
        "%%bash\nrm -rf /\n",
        "def softmax():\n    return helper()\n",
        "def helper():\n    return math.sqrt(49\n        % 50)\n",
        "get_ipython().run_line_magic('load_ext', 'x')\nsoftmax?\nplt.plot([1])\n",
        "from attention import softmax as mine\nfrom assignment.rope import apply_rope\n",
        "def causal_mask():\n    return mine() + 1\n",
    ]
    with notebook(tmp_path, cells) as student:
        assert student.softmax() == 7.0
        assert student.causal_mask() == 8.0
        with pytest.raises(NotImplementedError, match="write apply_rope") as caught:
            student.apply_rope()
    assert "cell 5 stopped with NameError" in str(caught.value)
    assert "cell 2" not in str(caught.value)


def test_a_broken_cell_spoils_only_itself_and_is_named(tmp_path):
    cells = ["def softmax(:\n", "1 / 0\n", "import sys\nsys.exit()\n", "causal_mask = lambda: 5\n"]
    with notebook(tmp_path, cells) as student:
        assert student.causal_mask() == 5
        with pytest.raises(NotImplementedError) as caught:
            student.softmax()
    for said in ("cell 1 stopped with SyntaxError", "cell 2 stopped with ZeroDivisionError"):
        assert said in str(caught.value)


# --- submissions that hang, die or cheat ---------------------------------------------------------


def test_an_endless_loop_is_stopped_and_the_next_test_starts_afresh(hostile):
    student = hostile(call_seconds=0.3)
    student.begin_test()
    with pytest.raises(WorkerTimeout, match=r"run did not return within 0\.3 s of processor time"):
        student.run("while True: pass")
    with pytest.raises(WorkerTimeout):
        student.run("answer = 1")
    student.begin_test()
    assert student.run("answer = 1") == 1


@pytest.mark.parametrize(
    ("source", "which"),
    [
        ("time.sleep(60)", "sleep"),
        ("while True: time.sleep(0.001)", "sleep"),
        ("threading.Thread(target=spin).start(); time.sleep(60)", "processor time"),
        ("time.process_time = time.monotonic = lambda: 0; spin()", "processor time"),
    ],
)
def test_a_call_ends_after_sleep_or_processor_time_whoever_takes_it(hostile, source, which):
    spin = "def spin():\n    while True:\n        pass\nimport threading, time\n"
    with pytest.raises(WorkerTimeout, match=rf"run did not return within 0\.4 s of {which}"):
        hostile(call_seconds=0.4, idle_seconds=0.4).run(spin + source)


def test_what_timed_out_twice_is_not_tried_again(hostile):
    student = hostile(idle_seconds=0.2)
    for _ in range(2):
        student.begin_test()
        with pytest.raises(WorkerTimeout):
            student.run("import time; time.sleep(60)")
    student.begin_test()
    used = student.seconds_used
    with pytest.raises(WorkerTimeout):
        student.run("answer = 1")
    assert student.seconds_used == used


def test_all_calls_together_have_a_budget(hostile):
    student = hostile(call_seconds=5, total_seconds=0.5)
    student.begin_test()
    with pytest.raises(BudgetExhausted, match=r"used its 0\.5 s"):
        student.run("while True: pass")
    student.begin_test()
    workers = student._generation
    with pytest.raises(BudgetExhausted):
        student.run("answer = 1")
    assert student._generation == workers


def test_some_tests_may_use_a_share_of_the_budget_only(hostile):
    """What is left is for the others: see grader.grading.session.PUBLIC_SHARE."""
    student = hostile(call_seconds=5, total_seconds=1)
    student.begin_test(share=0.4)
    with pytest.raises(BudgetExhausted, match=r"used its 0\.4 s for public tests"):
        student.run("while True: pass")
    student.begin_test(share=0.4)
    with pytest.raises(BudgetExhausted):
        student.run("answer = 1")
    student.begin_test()
    assert student.run("answer = 1") == 1


@pytest.mark.parametrize(
    ("source", "reason"),
    [
        ("import os; os._exit(0)", "exited with status 0"),
        ("import os; os._exit(7)", "exited with status 7"),
        ("import ctypes; ctypes.string_at(0)", "SIGSEGV"),
        ("import os; os.abort()", "SIGABRT"),
        ("import os; os.kill(os.getpid(), 9)", "SIGKILL"),
        ("import os; os.closerange(0, 4096)", "exited with status 1"),
    ],
)
def test_a_worker_that_dies_says_how_and_a_new_one_follows(hostile, source, reason):
    student = hostile()
    student.begin_test()
    with pytest.raises(WorkerDied, match=reason):
        student.run(source)
    student.begin_test()
    assert student.run("answer = 1") == 1


def test_death_between_calls_is_noticed(hostile):
    student = hostile()
    student.run("import os, threading; threading.Timer(0.05, os._exit, [3]).start()")
    student._channel.worker.exit_reason(5)
    with pytest.raises(WorkerDied, match="status 3"):
        student.run("answer = 1")


def test_exit_at_import_is_a_death(tmp_path):
    folder = write_submission(tmp_path / "s", attention="import os\nos._exit(0)\n")
    with start(folder, SANDBOX) as student, pytest.raises(WorkerDied, match="status 0"):
        student.run("")


def test_objects_of_a_dead_worker_are_not_asked(tmp_path):
    folder = write_submission(tmp_path / "s", attention=HONEST + "\nimport os\ndie = os._exit\n")
    with start(folder, SANDBOX, ("KVCache", "die", "length_of")) as student:
        cache = student.KVCache(1)
        with pytest.raises(WorkerDied):
            student.die(0)
        student.begin_test()
        with pytest.raises(WorkerDied, match="held this KVCache was stopped"):
            _ = cache.length
        with pytest.raises(WorkerDied, match="held this KVCache was stopped"):
            student.length_of(cache)


def test_memory_is_bounded(hostile):
    student = hostile(memory_mib=512)
    with pytest.raises(MemoryError):
        student.run("x = [np.ones(1 << 20) for _ in range(1000)]")
    assert student.run("answer = 1") == 1


def test_cpu_time_is_bounded(hostile):
    student = hostile(cpu_seconds=1, call_seconds=20)
    with pytest.raises(WorkerDied, match=r"SIGXCPU|SIGKILL"):
        student.run("while True: pass")


def test_prints_are_kept_up_to_a_bound_and_never_block(hostile):
    student = hostile(output_kib=16)
    student.run("import sys; print('out 文'); print('err', file=sys.stderr)")
    assert student.output_tail(100) == "out 文\nerr\n"
    student.run("import sys\nfor _ in range(1000): print('x' * 10_000)")
    tail = student.output_tail(50)
    assert tail.startswith("x" * 50) and "[9984628 more bytes not kept]" in tail


def test_lone_surrogates_in_a_message_can_be_printed(hostile):
    with pytest.raises(ValueError) as caught:
        hostile().run(r"raise ValueError('\ud800')")
    assert str(caught.value).encode() == b"?"


def forger(body: str) -> str:
    return f"""
import fcntl, os, struct, threading, time
def writable(f):
    try:
        return fcntl.fcntl(f, fcntl.F_GETFL) & os.O_ACCMODE == os.O_WRONLY
    except OSError:
        return False
fd = max(f for f in range(4096) if writable(f))
header = lambda length, numbers, nonce: struct.pack("<IQ8s", length, numbers, nonce)
{body}
"""


@pytest.mark.parametrize(
    "body",
    [
        "os.write(fd, b'garbage' * 100)",
        "os.write(fd, header(2**32 - 1, 0, b'x' * 8))",
        "os.write(fd, header(2, 2**64 - 1, b'x' * 8))",
        "os.write(fd, header(16, 0, b'\\0' * 8) + b'{\"ok\": 1}       ')",
        "os.write(fd, b'\\0' * 20)",
    ],
)
def test_a_forged_frame_during_a_call_is_a_violation(hostile, body):
    student = hostile()
    with pytest.raises(ProtocolViolation, match="run: the program sent something"):
        student.run(forger(body))
    assert student._channel is None


def test_a_frame_before_the_question_is_a_violation(hostile):
    student = hostile()
    late = "def late():\n    time.sleep(0.05)\n    os.write(fd, header(2, 0, b'x' * 8) + b'{}')\n"
    student.run(forger(f"{late}\nthreading.Thread(target=late).start()"))
    wait_for_bytes(student._channel.worker.reply_fd)
    with pytest.raises(ProtocolViolation, match="before it was asked"):
        student.run("answer = 1")


def wait_for_bytes(fd: int) -> None:
    assert select.select([fd], [], [], 5)[0]


def test_a_second_answer_is_a_violation(hostile):
    """The nonce of the open question can be read from memory; a second answer still shows."""
    source = """
import sys
frame = sys._getframe()
while "header" not in frame.f_locals or "requests" not in frame.f_locals:
    frame = frame.f_back
nonce = frame.f_locals["header"][-8:]
text = b'{"ok": 5}'
"""
    student = hostile()
    answer = "os.write(fd, header(len(text), 0, nonce) + text)"
    assert student.run(forger(source + answer)) == 5
    wait_for_bytes(student._channel.worker.reply_fd)
    with pytest.raises(ProtocolViolation):
        student.run("answer = 1")


@pytest.mark.parametrize(
    "text",
    [
        '{"ok": {"h": [1, 2, 3]}}',
        '{"ok": {"m": "tiny"}}',
        '{"ok": {"a": ["float64", 5]}}',
        '{"method": true}',
        '{"error": {"type": 1}}',
        '{"error": null}',
        '{"ok": 1, "changed": [1]}',
        "[]",
        "{}",
    ],
)
def test_an_answer_of_the_wrong_form_is_a_violation(hostile, text):
    source = f"""
import sys
frame = sys._getframe()
while "header" not in frame.f_locals or "requests" not in frame.f_locals:
    frame = frame.f_back
text = {text.encode()!r}
os.write(fd, header(len(text), 0, frame.f_locals["header"][-8:]) + text)
"""
    with pytest.raises(ProtocolViolation, match="returned what cannot be read"):
        hostile().run(forger(source))


def test_a_slow_drip_is_sleep(hostile):
    student = hostile(idle_seconds=0.5)
    with pytest.raises((WorkerTimeout, ProtocolViolation)):
        student.run(forger("while True:\n    os.write(fd, b'x'); time.sleep(0.05)"))


def test_a_worker_that_does_not_read_is_stopped(hostile):
    student = hostile(call_seconds=0.5)
    student.run("answer = 1")
    blocker = """
import gc, threading, time
def stop_reading():
    while True:
        pass
import sys
sys.setswitchinterval(1000)
threading.Thread(target=stop_reading, daemon=True).start()
"""
    with pytest.raises(WorkerTimeout):
        student.run(blocker)
        student.run("answer = 1" + " " * (1 << 19))


def test_a_closed_output_does_not_spin_or_break(tmp_path):
    # Inside bubblewrap its first process keeps the pipe open, so this is seen without one only.
    folder = write_submission(tmp_path / "s", attention=RUNNER)
    with start(folder, choose_sandbox("none")) as student:
        student.run("import os; os.close(1); os.close(2)")
        assert student.run("answer = 1") == 1
        assert student._channel._poll.poll(0) == []
        assert student.output_tail() == ""


def open_descriptors() -> int:
    return len(list(Path("/proc/self/fd").iterdir()))


def test_nothing_is_left_after_many_workers(tmp_path):
    folder = write_submission(tmp_path / "s", attention=RUNNER)

    def use() -> None:
        with start(folder, SANDBOX) as student:
            student.run("print('x'); answer = np.zeros(3)")
            process = student._channel.worker.process
        assert process.returncode is not None

    use()
    gc.collect()
    before = open_descriptors(), threading.active_count()
    for _ in range(8):
        use()
    gc.collect()
    assert (open_descriptors(), threading.active_count()) == before
    with contextlib.suppress(ChildProcessError):  # no child at all is as good as no zombie
        assert os.waitid(os.P_ALL, 0, os.WEXITED | os.WNOHANG | os.WNOWAIT) is None


def test_a_worker_that_cannot_start_is_the_graders_problem(tmp_path):
    folder = write_submission(tmp_path / "s", attention=RUNNER)
    student = start(folder, SANDBOX, memory_mib=16)
    with pytest.raises(SandboxUnavailable, match="could not start") as caught:
        student.run("answer = 1")
    assert not isinstance(caught.value, SubmissionProblem)


def test_closing_twice_and_calling_after_is_harmless(tmp_path):
    folder = write_submission(tmp_path / "s", attention=RUNNER)
    student = start(folder, SANDBOX)
    student.close()
    assert student.run("answer = 1") == 1
    student.close()
    student.close()
    assert Limits().frame_bytes == 8 << 20 and Path(folder).exists()
