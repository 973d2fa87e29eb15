"""What the refinement does to a model, and why: the paper's analysis, finished.

`figures` draws every figure of the paper's analysis and ours beside it; `experiment` trains the
same networks under conditions that differ in one thing each, and says what it was good for.
"""
