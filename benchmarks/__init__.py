"""Measurements of rivetpy against what its own machine's disk allows: `python -m benchmarks`."""
