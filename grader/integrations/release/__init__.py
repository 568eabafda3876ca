"""What leaves the house: the students' bundle, and the autograder that Gradescope runs.

`bundle` collects the files of the bundle, `leaks` looks for what must not be in it, `notebook`
makes the homework as one notebook; `gradescope` collects the files of autograder.zip, `autograder`
grades a submission inside Gradescope's container. `place` writes to the folder a person named.
"""
