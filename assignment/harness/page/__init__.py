"""One HTML file for the person whose code was tested: of a run at home, and of grading."""
