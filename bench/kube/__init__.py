"""Benchmarks of kron-operator: a real control plane, and its own CronJob controller beside it."""
