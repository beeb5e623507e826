"""A fault of the operator's own: it says where, gives its lease back, and ends with 70."""

from __future__ import annotations

import sys

from tests.cluster.kronjobs import KronJobs
from tests.cluster.operator import Operator

BROKEN = """
import sys
from kron.kube.operator.program import main
from kron.kube.operator.enrolment import ClusterEnrolment

def fail(self, member, now_ns):
    raise ValueError("a fault that nobody foresaw")

ClusterEnrolment.take_up = fail
sys.exit(main(sys.argv[1:]))
"""


class Faulty(Operator):
    """An operator that breaks when it takes up the first KronJob."""

    def words(self, *options: str) -> list[str]:
        words = super().words(*options)
        return [sys.executable, "-c", BROKEN, *words[words.index("run") :]]


def test_it_ends_with_70_says_where_and_another_can_lead_at_once(
    operator: Operator, kronjobs: KronJobs
) -> None:
    kronjobs.make("any", "0 0 1 1 *")
    faulty = Faulty(
        operator.cluster,
        operator.namespace,
        operator.output.parent,
        identity="faulty",
        kubeconfig=operator.kubeconfig,
    )
    with faulty:
        faulty.launch()
        assert faulty.wait() == 70
        assert "a fault that nobody foresaw" in faulty.said()
        assert faulty.holder() == ""
    operator.start()
    operator.wait_until_leading()
    kronjobs.wait_for_condition("any", "Ready")
