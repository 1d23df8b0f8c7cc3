"""The paper's tables and figures, one file each: pure functions of run records."""
