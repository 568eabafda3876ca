"""`grader report`: a static site from the records, one page for the class and one a student."""
