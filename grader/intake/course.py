"""The trusted side of a homework: its package, stubs and given files."""

from dataclasses import dataclass, field, replace
from pathlib import Path

from grader.authoring import skeleton
from grader.base.errors import GraderError
from grader.base.places import ROOT

PACKAGE = "assignment"


@dataclass(frozen=True)
class Course:
    """The trusted side: where the stubs and given files are, and what they are called."""

    package: Path
    student_modules: tuple[str, ...]
    given_files: tuple[str, ...]
    functions: tuple[str, ...] = ()
    # Stubs and given files as the solution makes them: the copies in `package` may hold what the
    # instructor wrote when trying the homework.
    generated: dict[str, str] = field(default_factory=dict)

    @classmethod
    def load(cls) -> "Course":
        """The installed homework; raises GraderError when `assignment` is not the one that came
        with this grader (a class folder may hold a folder of that name)."""
        import assignment
        from assignment.harness import parts

        package = Path(assignment.__file__).resolve().parent
        if package.parent != ROOT:
            raise GraderError(
                f"Python finds the package 'assignment' in {package.parent}, but the grader's own "
                f"lies in {ROOT}. Run the grader from another folder."
            )
        return cls(
            package,
            parts.STUDENT_MODULES,
            parts.GIVEN_FILES,
            tuple(parts.MODULE_OF),
            skeleton.generated_files(),
        )

    def with_modules(self, modules: tuple[str, ...]) -> "Course":
        """The same with more modules of the student's: those of an extra part."""
        return replace(self, student_modules=self.student_modules + modules)

    @property
    def module_files(self) -> frozenset[str]:
        """`attention.py`, `rope.py`, …"""
        return frozenset(f"{name}.py" for name in self.student_modules)
