"""Values of a submission that cannot be sent: objects that stay in the worker, and mapped files."""

from typing import Any

from grader.base.words import tr


class RemoteObject:
    """An object that stays in the worker; attributes and methods are asked for by name.

    `student` is the RemoteStudent whose worker it lies in.
    """

    def __init__(self, student: Any, generation: int, number: int, type_name: str):
        self._student = student
        self._generation = generation
        self._number = number
        self._type_name = type_name
        self._methods: set[str] = set()

    def __getattr__(self, name: str) -> Any:
        # Python, numpy and pytest ask any object for such names; a submission's answer is unwanted.
        if name.startswith("__"):
            raise AttributeError(f"{self._type_name} has no attribute {name} here")
        if name not in self._methods:
            known, value = self._student._get(self, name)
            if not known:
                return value
            self._methods.add(name)
        return lambda *args, **kwargs: self._student._method(self, name, args, kwargs)

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        return self._student._invoke(self, args, kwargs)

    def __len__(self) -> int:
        return self._student._length(self)

    def __getitem__(self, key: Any) -> Any:
        return self._student._item(self, key)

    def __bool__(self) -> bool:
        raise TypeError(f"{self!r} is neither true nor false; ask for one of its attributes")

    # Without it a for loop would ask for items until an IndexError of the submission's making.
    __iter__ = None

    def __repr__(self) -> str:
        return f"<{self._type_name} of the submission>"

    def described(self) -> str:
        """For messages to students (see assignment.harness.compare)."""
        return tr("something of type {name}", name=self._type_name)


class Mapped:
    """Stands for the read-only arrays of a file that was mapped into the sandbox."""

    def __init__(self, name: str):
        self.name = name
