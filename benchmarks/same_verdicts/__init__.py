"""Does the grader at two commits say the same of the same homework?

    python -m benchmarks.same_verdicts OLD                   against the working tree
    python -m benchmarks.same_verdicts OLD NEW               against another commit
    python -m benchmarks.same_verdicts OLD --only class --names 'bug-*'
    python -m benchmarks.same_verdicts OLD --keep DIR        keeps what OLD said
    python -m benchmarks.same_verdicts OLD --from DIR        and does not grade it again

Three sections are graded by both, with one secret, the same limits and without the real model: the
sample class and the correct variants, compared field by field, and the hostile corpus, of which
state and points must agree. What is graded is made once, by OLD. Times, versions, hashes of the
suite and places on this machine may differ; any other difference is printed, and the exit code is 1
(2 where no comparison came about). A change that is meant is named with --allow-field.

A submission that differs is graded again alone on both sides, at most twice, before that is called
a difference: some programs race. Those that were equal then are named.

Each side is the `grader run` of its own tree, whose files lie in a folder: a commit's by `git
archive`, which unlike a worktree leaves nothing in the repository when this is killed; the working
tree's as a copy, so that nobody's edits change it meanwhile. The folder lies in one called
site-packages, for hypothesis draws from the constants of all modules that do not: a constant moved
anywhere in the grader would then change the examples of a property, and with them the messages.
"""
