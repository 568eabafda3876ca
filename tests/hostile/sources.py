"""The attacks in code: each a file in submissions/, laid behind the solution of its module."""

from pathlib import Path

from .attack import ROPE, Attack, Place

FOLDER = Path(__file__).parent / "submissions"
HELPER = "attempts.py"
MODULE_MARK = "# module: "
# The modules that a module of the solution needs beside it.
NEEDS = {"rope": (), "kv_cache": ("attention", "rope", "gqa")}

# Right answers stay right: the attack fails and costs nothing.
HONEST = {"full": ROPE}
# The attack stands in place of apply_rope alone, or of both functions.
IN_APPLY = {"full": ("3.1",)}
IN_BOTH = {"full": ()}
# "q.k depends on m - n alone" holds for constants: 3 of the 17 points of apply_rope.
ONE_PROPERTY = {"3.2": 3 / 17}


def parts_of(name: str, solution: dict[str, str], course: Path, out: Path) -> dict[str, str]:
    """The files of a submission by their names."""
    attack = (FOLDER / f"{name}.py").read_text(encoding="utf-8")
    first = attack.partition("\n")[0]
    module = first.removeprefix(MODULE_MARK) if first.startswith(MODULE_MARK) else "rope"
    attack = attack.replace("@ROOT@", str(course)).replace("@OUT@", str(out))
    files = {f"{need}.py": solution[need] for need in NEEDS[module]}
    files[f"{module}.py"] = f"{solution[module]}\n\n# --- the attack\n{attack}"
    if "from .attempts import" in attack:
        files[HELPER] = (FOLDER / HELPER).read_text(encoding="utf-8")
    return files


def hand_in(attack: Attack, place: Place, out: Path) -> Path:
    """Write the submission of a file of submissions/ as a folder of the class."""
    folder = place.folder / attack.name
    folder.mkdir()
    for name, text in parts_of(attack.name, place.solution, place.course, out).items():
        (folder / name).write_text(text, encoding="utf-8", errors="surrogatepass")
    return folder


def _stopped(name: str, hopes: str, *says: str, **verdict) -> Attack:
    return Attack(name, hopes, says=says, **(verdict or IN_APPLY))


TIME, DIED, PROTOCOL = "did not return within", "ended the program", "sent "
SOURCES = (
    # Ending the program
    _stopped("exit_in_import", "exit code 0 means passed", "ends the program", **IN_BOTH),
    _stopped("exit_in_call", "exit code 0 means passed", "SystemExit"),
    _stopped("os_exit_in_import", "no result is a good result", DIED, **IN_BOTH),
    _stopped("os_exit_in_call", "prints its own result and leaves", DIED),
    Attack("atexit_writes", "has the last word", **HONEST),
    Attack("destructor_writes", "has the last word", **HONEST, says=("refused a file from a",)),
    _stopped("segfault", "takes the grader along", "SIGSEGV"),
    Attack("kill_everyone", "ends the grader and its neighbours", **HONEST, says=("still here",)),
    _stopped("kill_itself", "takes the grader along"),
    # Time
    _stopped("endless_loop", "holds up the class, whatever signal comes", TIME),
    _stopped("endless_import", "holds up the class", TIME, **IN_BOTH),
    _stopped("endless_message", "hangs whoever reads the exception", TIME),
    _stopped("catastrophic_regex", "holds the interpreter's lock for ever", TIME),
    _stopped("slow_drip", "looks busy for ever", TIME),
    Attack("slow_but_right", "nothing: it is honest", **HONEST),
    Attack(
        "just_in_time",
        "holds up the class, one call at a time",
        full=("3.1",),
        some={"3.2": 1.0},
        state="partial",
        says=("has used its",),
    ),
    # Memory
    _stopped("memory_8_gib", "exhausts the machine at once", "MemoryError"),
    _stopped("memory_by_steps", "exhausts the machine slowly", "MemoryError"),
    _stopped("deep_recursion", "overflows a stack"),
    _stopped("huge_message", "fills the grader's memory with a message", "ValueError: xxx"),
    _stopped("huge_result", "fills the grader's memory with an answer", "at most", **IN_BOTH),
    # Processes and threads
    Attack("fork_bomb", "fills the process table", **HONEST, says=("refused fork",)),
    Attack("daemon", "outlives its worker", **HONEST, says=("refused daemon",)),
    Attack("thread_bomb", "fills the process table", **HONEST, says=("refused 500 threads",)),
    Attack("subprocesses", "runs other programs", **HONEST, says=("refused shell",)),
    _stopped("another_program", "answers from a program without limits"),
    # Files and output
    Attack("one_huge_file", "fills the disk", **HONEST, says=("refused a huge file in /tmp",)),
    Attack("many_files", "uses up the inodes", **HONEST, says=("refused files in /dev/shm",)),
    Attack("stdout_flood", "fills memory and disk with text", **HONEST, says=("bytes not kept",)),
    Attack("stderr_flood", "fills memory and disk with bytes", **HONEST, says=("bytes not kept",)),
    Attack("closed_streams", "breaks who waits for output", **HONEST),
    _stopped("closed_pipes", "breaks who waits for an answer"),
    # The protocol
    _stopped("prints_as_answers", "prints become answers"),
    _stopped("protocol_flood", "fills the grader's memory"),
    # Told as early, or as no answer to the open request where the worker is slower than the grader.
    _stopped("early_frame", "answers the next question before it is asked", PROTOCOL),
    _stopped("frame_without_the_nonce", "answers without the number", "open request"),
    _stopped("frame_of_4_gib", "makes the grader reserve 2**64 bytes", "announces"),
    _stopped("half_a_frame", "makes the grader wait for the rest", DIED),
    _stopped("deep_json", "overflows the grader's stack", "nested", **IN_BOTH),
    _stopped("lying_arrays", "reads memory behind a frame", "array", **IN_BOTH),
    _stopped("many_digits", "makes a parser work for minutes", PROTOCOL, **IN_BOTH),
    _stopped("lying_error", "raises SystemExit in the grader", **IN_BOTH),
    _stopped("pickle_payload", "is unpickled", **IN_BOTH),
    # Answers that are none
    _stopped("equal_to_everything", "__eq__ is always true", "of type Equal", **IN_BOTH),
    _stopped("array_protocols", "numpy asks the object itself", "of type Chameleon"),
    _stopped("array_subclass", "compares by its own methods", "of type Agreeable"),
    _stopped("masked_array", "masked values are never wrong", "of type MaskedArray"),
    _stopped("nan_everywhere", "NaN compares as no error", "nan", **IN_BOTH),
    _stopped("infinity_everywhere", "inf - inf is no error", "inf", some=ONE_PROPERTY),
    _stopped("nan_where_it_is_hard", "an error of NaN is below no tolerance", "nan"),
    _stopped("scalars_that_broadcast", "a scalar fits every shape", "scalar", **IN_BOTH),
    _stopped("one_axis_too_many", "(1, V) broadcasts to (V,)", "shape (1, ", **IN_BOTH),
    _stopped("empty_arrays", "no value is wrong", "shape (", **IN_BOTH),
    _stopped("float16", "a loose dtype brings a loose tolerance", "dtype float16"),
    _stopped("object_dtype", "objects subtract as they like", "dtype object"),
    _stopped("odd_dtypes", "another dtype is compared by value", "dtype complex128"),
    _stopped("constants", "a property holds for constants", "values are not", some=ONE_PROPERTY),
    # Honest oddities
    Attack("negative_strides", "nothing: it is honest", **HONEST),
    Attack("read_only_outputs", "nothing: it is honest", **HONEST),
    Attack("aliased_outputs", "nothing: it is honest", **HONEST),
    Attack("warns_on_stderr", "nothing: it is honest", **HONEST, says=("really",)),
    # Memory of earlier calls
    # How often addresses repeat is the allocator's business: where none does, the answer is right.
    _stopped("cached_by_id", "addresses repeat", full=("3.1",), some={"3.2": 0.9}),
    _stopped("cached_by_shape", "shapes repeat", full=("3.1",), some={"3.2": 0.9}),
    _stopped("mutated_inputs", "compared with its own result", "changed its input"),
    Attack("mutated_inputs_denied", "the grader's arrays change", **HONEST),
    # The test runner
    _stopped("patched_numpy", "comparisons say yes", **IN_APPLY, some=ONE_PROPERTY),
    _stopped("patched_builtins", "the worker's own functions say yes", **IN_BOTH),
    Attack(
        "frame_and_gc_walk",
        "finds the expected values in memory",
        **HONEST,
        says=("refused frames", "refused objects", "refused modules"),
    ),
    _stopped("keyboard_interrupt", "interrupts the grader", "KeyboardInterrupt", **IN_BOTH),
    _stopped("pretends_to_skip", "a skipped test is no failure", "Skipped", **IN_BOTH),
    _stopped("pretends_to_be_a_stub", "somebody else's fault", "not implemented", **IN_BOTH),
    _stopped("exception_group", "cannot be raised from a text", "Many: several", **IN_BOTH),
    _stopped("claims_in_prints", "its output is taken for a report", "100 passed"),
    _stopped("html_and_ansi", "runs in who reads the result", "<script>", **IN_BOTH),
    # Looking around
    Attack(
        "import_the_reference",
        "finds the answers",
        **HONEST,
        says=("refused import solution", "refused read the solution", "refused load the file"),
    ),
    Attack("proc_reading", "reads other processes", **HONEST, says=("refused environ of others",)),
    Attack("inherited_descriptors", "reads open files", **HONEST, says=("refused anything but",)),
    Attack(
        "sockets",
        "asks somebody else",
        **HONEST,
        says=("refused IPv4", "refused IPv6", "refused unix", "refused abstract connect"),
    ),
    Attack("environment_dump", "finds secrets", **HONEST, says=("refused getenv", "refused root")),
    Attack("system_calls", "uses the kernel's back doors", **HONEST, says=("refused keyctl",)),
    Attack("mounts", "mounts another file system", **HONEST, says=("refused mount tmpfs",)),
    Attack("unshare", "becomes root in a namespace", **HONEST, says=("refused unshare user",)),
    Attack("notes_for_the_next", "hands answers on", **HONEST, says=("refused write in /dev/shm",)),
    # The homework itself
    _stopped(
        "recompute",
        "right without a cache",
        full=("1", "2", "3", "4.1", "4.2"),
        some={"4.4": 1.0, "5.1": 0.6, "5.2": 1.0},
        lost=("test_decode_uses_the_cache", "test_decode_of_a_grouped_model"),
    ),
    Attack(
        "recompute_with_old_models",
        "right without a cache, whatever embeddings and counts say",
        full=("1", "2", "3"),
        some={"4.1": 1.0, "4.2": 1.0, "4.4": 1.0, "5.1": 0.6, "5.2": 1.0},
        lost=("test_decode_reads_the_cache", "test_decode_of_a_grouped_model"),
    ),
    _stopped("reads_trusted_parts", "tells the trusted parts to its author"),
    Attack(
        "trusted_parts_as_answers",
        "takes the trusted cache of part 6 for its own",
        full=("1", "2", "3"),
        some={"5": 1.0},
    ),
)
