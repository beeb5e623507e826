"""Fakes and conformance suites for tests. Nothing that people run imports it."""
