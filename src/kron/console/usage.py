"""A command line that contradicts itself, in a way that argparse cannot know."""

from __future__ import annotations

from kron.core.errors import KronError


class UsageError(KronError):
    """It ends with the exit code of a wrong command line, whatever its own code is."""
