"""Where the parts of this project lie on disk."""

from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
GRADER = ROOT / "grader"
SOLUTION = ROOT / "solution"
REFERENCE = ROOT / "reference_model"
ASSIGNMENT = ROOT / "assignment"
EXAMPLES = ROOT / "examples"
HIDDEN_TESTS = GRADER / "grading" / "hidden"
