"""What a call of a submission may raise here, beside what the submission raises by rights."""

import builtins
from typing import Any

from assignment.harness.student import ImportFailure, import_error
from grader.base.words import tr
from grader.sandbox import wire

MAX_LINE = 10**6  # of a file, which is far smaller than that


class SubmissionProblem(Exception):
    """The submission, not its answer, is at fault: it hung, died or broke the protocol."""


class WorkerTimeout(SubmissionProblem):
    """A call did not come back in time."""


class WorkerDied(SubmissionProblem):
    """The worker process ended during or between calls."""


class ProtocolViolation(SubmissionProblem):
    """Bytes came that are not the answer to the open request."""


class OutputTooLarge(SubmissionProblem):
    """A function returned more than one frame may carry."""


class BudgetExhausted(SubmissionProblem):
    """The submission has used the time it was given for all its calls together."""


class OutOfRoom(Exception):
    """A call needed more memory than it was given room for."""


class StudentException(Exception):
    """An exception of a class that only the submission has; `type_name` is that class's name."""

    student_where: str = ""

    def __init__(self, type_name: str, message: str = ""):
        super().__init__(f"{type_name}: {message}" if message else type_name)
        self.type_name = type_name


def student_exception(report: Any) -> Exception:
    """The exception that a worker's report describes, harmless to raise on this side."""
    if type(report) is not dict:
        raise wire.WireError("an error report was expected")
    name, message, where, bases = (report.get(k) for k in ("type", "message", "where", "bases"))
    if type(name) is not str or type(message) is not str or type(where) is not str:
        raise wire.WireError("an error report was expected")
    if type(bases) is not list:
        raise wire.WireError("an error report was expected")
    name, message = wire.clean_text(name, 100), wire.clean_text(message)
    error: Exception
    if "import" in report:
        error = _import_error(report["import"], message)
    else:
        error = _builtin_exception(name, message) or _own_exception(name, message, bases)
    error.student_where = wire.clean_text(where, 200)  # type: ignore[attr-defined]
    return error


def _import_error(report: Any, notes: str) -> ImportError:
    """The ImportError of a file that could not be imported; `notes` stand behind its words."""
    if type(report) is not dict:
        raise wire.WireError("a report of an import was expected")
    kind, line = report.get("kind"), report.get("line")
    texts: list[Any] = [report.get(name) for name in ("module", "file", "exception", "problem")]
    if kind not in ("not_python", "ends_program", "raised"):
        raise wire.WireError("a kind of import failure was expected")
    if not all(type(text) is str for text in texts) or type(line) not in (int, type(None)):
        raise wire.WireError("a report of an import was expected")
    module, file, exception = (wire.clean_text(text, 100) for text in texts[:3])
    line = None if line is None else min(max(line, 0), MAX_LINE)
    failure = ImportFailure(kind, module, file, line, exception, wire.clean_text(texts[3]))
    words = failure.in_words()
    if report.get("no_such_module") is True and kind == "raised":
        words += tr("; only numpy and the standard library are installed here")
    return import_error(failure, wire.clean_text(words + notes))


def _builtin_class(name: Any) -> type[Exception] | None:
    found = getattr(builtins, name, None) if type(name) is str else None
    plain = isinstance(found, type) and issubclass(found, Exception)
    return found if plain and found is not StopIteration else None


def _builtin_exception(name: str, message: str) -> Exception | None:
    found = _builtin_class(name)
    try:
        return found(message) if found else None
    except TypeError:  # UnicodeDecodeError and a few others want more than a text
        return None


def _own_exception(name: str, message: str, bases: list) -> Exception:
    """A StudentException that is also what its class builds on, as AxisError is a ValueError."""
    for base in bases[:10]:
        kind = _builtin_class(base)
        if kind not in (None, Exception) and name.isidentifier():
            try:
                return type(name, (StudentException, kind), {})(name, message)
            except (TypeError, ValueError):  # an ExceptionGroup wants exceptions, not a text
                break
    return StudentException(name, message)
