"""The bench: task sets, grading, and runs that can be interrupted."""
