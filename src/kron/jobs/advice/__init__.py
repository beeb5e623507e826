"""Advice about jobs that are valid and still not what somebody wanted: the warnings of lint."""

from kron.jobs.advice.advisor import advise
from kron.jobs.advice.host import Host, Kind, LocalHost
from kron.jobs.advice.remark import Advice

__all__ = ["Advice", "Host", "Kind", "LocalHost", "advise"]
