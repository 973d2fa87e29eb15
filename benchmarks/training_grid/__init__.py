"""Many trainings that differ in one thing, and what came of them: `benchmarks/experiment.py`."""
