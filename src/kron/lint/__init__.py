"""The warnings of lint: jobs that are valid, but may not do what their author expects."""

from kron.lint.advisor import advise
from kron.lint.remark import Advice
from kron.lint.requirement import Host, PathKind

__all__ = ["Advice", "Host", "PathKind", "advise"]
