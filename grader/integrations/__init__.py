"""Other programs: nbgrader, Gradescope, exports, the student bundle."""
