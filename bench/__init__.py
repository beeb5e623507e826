"""Benchmarks. What counts is a ratio or a budget, measured in one run: `python -m bench`."""
