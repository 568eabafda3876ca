"""What the class page says, gathered from the records one at a time."""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from statistics import median

from assignment.harness.known_bugs import known_bugs
from assignment.harness.parts import PART_BY_NUMBER
from assignment.harness.words import plain
from grader.base.words import spoken, spoken_title, tr
from grader.grades.judgement import remarks_of
from grader.grades.policy import Score
from grader.grades.policy_file import Policy
from grader.grades.statistics import Summary
from grader.reports.pages.pages import render
from grader.reports.pages.place import link_to, page_names
from grader.reports.pages.plots import Histogram, histogram
from grader.reports.pages.rules import policy_in_words
from grader.reports.pages.text import as_json, case_of, seconds, without_paths, words_of_script
from grader.results.record import DiagnosisRecord, SubmissionResult, TestResult

N_BINS = 20
N_HARDEST = 10
N_BUGS = 10
N_SLOWEST = 5
# A letter a test in the page's data; the script and the legend know them.
CELL = {
    "passed": "p",
    "failed": "f",
    "not_started": "n",
    "waiting": "w",
    "out_of_time": "t",
}
WITH_TRUSTED_PARTS, NO_RESULT = "k", "-"


@dataclass(frozen=True)
class PartCell:
    """A student's points of one part."""

    points: float | None
    is_full: bool
    is_below_minimum: bool


@dataclass(frozen=True)
class Row:
    """One student in the table and in the heat map."""

    student: str
    page: str
    state: str
    final: float | None
    most: float
    parts: dict[int, PartCell]
    remarks: tuple[str, ...]
    bugs: tuple[str, ...]
    reason: str
    seconds: float
    days_late: float
    written: float | None = None
    label: str = ""  # who it is, for people


@dataclass(frozen=True)
class BugRow:
    """A known bug and who has it."""

    name: str
    part: int
    summary: str
    students: tuple[Row, ...]
    bar: float


@dataclass(frozen=True)
class TestColumn:
    """A test over the class; of `n` students with a result, `n_passed` passed it."""

    id: str
    part: int
    section: str
    title: str
    case: str
    visibility: str
    points: float
    n: int
    n_passed: int

    @property
    def share(self) -> float:
        """Of those who handed in, who passed, in percent."""
        return 100 * self.n_passed / self.n if self.n else 0.0


@dataclass(frozen=True)
class HardTest:
    """A test and its hidden twin, by the harder of the two; shares in percent, None: not there."""

    column: int
    section: str
    title: str
    case: str
    share: float
    public: float | None
    hidden: float | None


@dataclass
class Classroom:
    """The class so far. `add` takes one record and keeps a few hundred bytes of it."""

    policy: Policy
    pages: Mapping[str, str] = field(default_factory=dict)  # the file of each student's page
    rows: list[Row] = field(default_factory=list)
    _cells: dict[str, dict[str, str]] = field(default_factory=dict)
    _tests: dict[str, TestResult] = field(default_factory=dict)
    _part_of_bug: dict[str, int] = field(default_factory=dict)
    _suites: Counter[str] = field(default_factory=Counter)
    _tiers: Counter[str] = field(default_factory=Counter)
    _last_graded: list = field(default_factory=list)

    def add(self, record: SubmissionResult, score: Score) -> None:
        """One student: the record that counts and its score."""
        for test in record.tests:
            self._tests.setdefault(test.id, test)
        for found in _named(record):
            self._part_of_bug.setdefault(_bug_name(found), found.part)
        self._cells[score.student] = {test.id: _cell(test) for test in record.tests}
        if record.suite_version:
            self._suites[record.suite_version] += 1
        if record.sandbox_tier:
            self._tiers[record.sandbox_tier] += 1
        self._last_graded = [max([record.graded_at, *self._last_graded])]
        student = score.student
        page = f"students/{link_to(self.pages.get(student) or page_names([student])[student])}"
        self.rows.append(_row(record, score, page))

    def page(self, problems: Sequence[str] = ()) -> str:
        """The HTML of index.html."""
        rows = sorted(self.rows, key=_in_order)
        graded = [(row, row.final) for row in rows if row.final is not None]
        tests = self._columns()
        most = max((row.most for row in rows), default=0.0)
        finals = [final for _, final in graded]
        times = sorted((row.seconds for row in rows if row.seconds > 0), reverse=True)
        part_numbers = sorted({p.part for p in tests} | set(self.policy.points))
        return render(
            "class.html.j2",
            ("class.css",),
            ("class.js",),
            rows=rows,
            errors=[row for row in rows if row.state == "error" and row.final is None],
            no_grade=[row for row in rows if row.final is None and row.state != "error"],
            problems=[without_paths(problem) for problem in problems],
            counts=Counter(row.state for row in rows),
            n_full=sum(final >= row.most for row, final in graded if row.most),
            median=median(finals) if finals else None,
            summary=_summary(finals),
            most=most,
            parts=[(number, _part_title(number)) for number in part_numbers],
            scores=histogram(finals, most, N_BINS, tr("points")),
            bugs=self._bugs(rows),
            n_bugs=N_BUGS,
            n_with_bug=sum(bool(row.bugs) for row in rows),
            n_tests=len(tests),
            n_handed_in=sum(row.state in ("graded", "partial") for row in rows),
            hardest=self._hardest(tests),
            times=_times(times),
            time_plot=_time_plot(times),
            slowest=sorted(rows, key=lambda row: -row.seconds)[:N_SLOWEST],
            has_late=any(row.days_late for row in rows),
            has_written=any(row.written is not None for row in rows),
            suites=_in_words(self._suites),
            tiers=_in_words(self._tiers),
            graded_at=self._last_graded[0] if self._last_graded else None,
            policy=policy_in_words(self.policy),
            policy_points=self.policy.points,
            data=self._data(rows, tests, part_numbers),
        )

    def _columns(self) -> list[TestColumn]:
        """All tests of the class, by part and section."""
        handed_in = [
            self._cells[row.student] for row in self.rows if row.state in ("graded", "partial")
        ]
        columns = []
        for test in self._tests.values():
            cells = [cells[test.id] for cells in handed_in if test.id in cells]
            passed = sum(cell in (CELL["passed"], WITH_TRUSTED_PARTS) for cell in cells)
            columns.append(
                TestColumn(
                    test.id,
                    test.part,
                    test.section,
                    spoken_title(test.title, test.variant),
                    case_of(test),
                    test.visibility,
                    test.max_points,
                    len(cells),
                    passed,
                )
            )
        return sorted(
            columns,
            key=lambda test: (test.part, _section(test.section), test.visibility == "hidden"),
        )

    def _hardest(self, tests: Sequence[TestColumn]) -> list[HardTest]:
        """The tests that the fewest passed; the cases of one title are one test."""
        columns_of: dict[tuple, list[int]] = {}
        for column, test in enumerate(tests):
            if test.n:
                columns_of.setdefault((test.part, test.section, test.title), []).append(column)
        hard = []
        for (_, section, title), columns in columns_of.items():
            column = min(columns, key=lambda number: tests[number].share)
            if tests[column].n_passed < tests[column].n:
                lowest = {
                    kind: min(
                        (t.share for t in map(tests.__getitem__, columns) if t.visibility == kind),
                        default=None,
                    )
                    for kind in ("public", "hidden")
                }
                case = tests[column].case
                hard.append(HardTest(column, section, title, case, tests[column].share, **lowest))
        return sorted(hard, key=lambda test: (test.share, -tests[test.column].points))[:N_HARDEST]

    def _bugs(self, rows: Sequence[Row]) -> list[BugRow]:
        """Known bugs, the most common first."""
        having: dict[str, list[Row]] = {}
        for row in rows:
            for name in row.bugs:
                having.setdefault(name, []).append(row)
        highest = max(map(len, having.values()), default=0)
        return [
            BugRow(
                name,
                self._part_of_bug.get(name, 0),
                _bug_summary(name),
                tuple(students),
                round(100 * len(students) / highest, 1),
            )
            for name, students in sorted(having.items(), key=lambda item: (-len(item[1]), item[0]))
        ]

    def _data(
        self, rows: Sequence[Row], tests: Sequence[TestColumn], part_numbers: Sequence[int]
    ) -> str:
        """What the page's script sorts, filters and draws: rows in the order of the table."""
        bugs = sorted({name for row in rows for name in row.bugs})
        number = {name: i for i, name in enumerate(bugs)}
        return as_json(
            {
                "tests": [
                    [test.part, test.section, plain(test.title), plain(test.case),
                     test.visibility[0], test.points]
                    for test in tests
                ],
                "bugs": [plain(name) for name in bugs],
                "words": words_of_script("class.js"),
                "parts": part_numbers,
                "students": [
                    [
                        plain(row.label),
                        row.page,
                        row.state,
                        row.final,
                        [
                            cell.points if (cell := row.parts.get(part)) else None
                            for part in part_numbers
                        ],
                        "".join(
                            self._cells[row.student].get(test.id, NO_RESULT) for test in tests
                        ),
                        [number[name] for name in row.bugs],
                        round(row.seconds, 1),
                    ]
                    for row in rows
                ],
            }
        )  # fmt: skip


def _summary(finals: Sequence[float]) -> list[tuple[str, float]]:
    """Mean, deviation and quartiles of the grades, from three on."""
    of = Summary.of(finals)
    if of.n < 3 or of.quartiles is None or of.mean is None or of.deviation is None:
        return []
    low, _, high = of.quartiles
    spread = [(tr("mean"), of.mean), (tr("deviation"), of.deviation)]
    return [*spread, (tr("lower quartile"), low), (tr("upper quartile"), high)]


def _in_order(row: Row) -> tuple:
    """Errors first, then whoever has no grade, then by name."""
    return (row.state != "error", row.final is not None, row.student.casefold(), row.student)


def _row(record: SubmissionResult, score: Score, page: str) -> Row:
    has_grade = score.final is not None
    parts = {
        part.part: PartCell(
            part.points if has_grade else None,
            has_grade and part.points >= part.max_points,
            part.part in score.below_minimum,
        )
        for part in score.parts
    }
    return Row(
        score.student,
        page,
        record.state,
        score.final if has_grade else None,
        score.max_points,
        parts,
        tuple(map(without_paths, remarks_of(score))),
        tuple(dict.fromkeys(_bug_name(found) for found in _named(record))),
        without_paths(record.reason),
        record.seconds,
        score.days_late,
        score.written.points if score.written and has_grade else None,
        score.label,
    )


def _named(record: SubmissionResult) -> list[DiagnosisRecord]:
    return [found for found in record.diagnoses if found.bugs]


def _bug_name(found: DiagnosisRecord) -> str:
    """`position-zero`, `a + b` for two at once, `a or b` where no test tells them apart."""
    return tr(" or ").join(" + ".join(names) for names in found.bugs)


def _bug_summary(name: str) -> str:
    """What the bug does, if it is one and in the catalogue."""
    bug = known_bugs().get(name)
    return bug.summary.spoken if bug else ""


def _cell(test: TestResult) -> str:
    return WITH_TRUSTED_PARTS if test.with_trusted_parts else CELL[test.state]


def _section(section: str) -> tuple:
    """4.10 comes after 4.9."""
    return tuple(int(piece) if piece.isdecimal() else 0 for piece in section.split("."))


def _part_title(number: int) -> str:
    known = PART_BY_NUMBER.get(number)
    return spoken(known.title) if known else tr("Part {part}", part=number)


def _in_words(counts: Counter[str]) -> str:
    """`1`, or `1 (890 results), 2 (10 results)` where a class is mixed."""
    if len(counts) < 2:
        return next(iter(counts), "")
    named = (tr("{name} ({n} results)", name=name, n=n) for name, n in counts.most_common())
    return tr(", ").join(named)


def _times(times: Sequence[float]) -> list[tuple[str, str]]:
    if not times:
        return []
    return [
        (tr("median"), seconds(median(times))),
        (tr("19 of 20 within"), seconds(times[len(times) // 20])),
        (tr("longest"), seconds(times[0])),
        (tr("all together"), seconds(sum(times))),
    ]


def _time_plot(times: Sequence[float]) -> Histogram | None:
    return histogram(times, times[0], N_BINS, tr("seconds")) if times else None
