"""kronctl doctor: the verdict on everything that may be wrong, without a cluster."""

from __future__ import annotations

import time
from collections.abc import Callable
from copy import deepcopy
from itertools import count
from typing import Any

import pytest
import yaml

import kron
from kron.core.instant import from_text, to_text
from kron.kube.api_object import Object
from kron.kube.client.lease import Holder, Lease
from kron.kube.client.server_clock import ServerClock
from kron.kube.kronctl.doctor.check import Check, Subject, Verdict
from kron.kube.kronctl.doctor.definition import judge as judge_definition
from kron.kube.kronctl.doctor.examination import check_own_clock
from kron.kube.kronctl.doctor.kronjob_health import check_kronjobs
from kron.kube.kronctl.doctor.leader import check_overlaps
from kron.kube.kronctl.doctor.leader import judge as judge_lease
from kron.kube.kronctl.doctor.rights import Right, lease_rights, operator_rights
from kron.kube.operator.settings import DEFAULT_LEASE_NAME
from kron.kube.resource.schema.definition import definition
from kron.testing.clock import FakeClock
from tests.cluster.rights import rules_of
from tests.kube.kronctl.command import Kronctl
from tests.kube.kronctl.manifests import kronjob
from tests.kube.kronctl.server import Answer, answering, use

NOW = "2026-03-01T12:00:00Z"
NOW_S = from_text(NOW)
ESTABLISHED = {"conditions": [{"type": "Established", "status": "True"}]}


def of(checks: list[Check]) -> list[tuple[str, str]]:
    return [(each.subject.value, each.verdict.value) for each in checks]


# The definition


def installed() -> Object:
    return {**deepcopy(definition()), "status": ESTABLISHED}


def test_the_definition_of_this_kronctl_is_right() -> None:
    assert judge_definition(definition(), installed()).verdict is Verdict.OK


def schema_of(theirs: Object) -> Any:
    return theirs["spec"]["versions"][0]["schema"]["openAPIV3Schema"]["properties"]["spec"]


def lose_a_field(theirs: Object) -> None:
    del schema_of(theirs)["properties"]["window"]


def gain_a_field(theirs: Object) -> None:
    schema_of(theirs)["properties"]["later"] = {"type": "string"}


def loosen_a_field(theirs: Object) -> None:
    del schema_of(theirs)["properties"]["schedule"]["maxLength"]


def serve_another(theirs: Object) -> None:
    theirs["spec"]["versions"][0]["name"] = "v9"


def serve_nothing(theirs: Object) -> None:
    theirs["spec"]["versions"][0]["served"] = False


def be_refused(theirs: Object) -> None:
    theirs["status"] = {}


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lose_a_field, "spec.window differ"),
        (gain_a_field, "spec.later differ"),
        (loosen_a_field, "spec.schedule differ"),
        (serve_another, "does not serve KronJobs of version v1alpha1"),
        (serve_nothing, "does not serve KronJobs of version v1alpha1"),
        (be_refused, "has not accepted the definition"),
    ],
)
def test_another_definition_is_a_problem(change: Any, message: str) -> None:
    theirs = installed()
    change(theirs)
    check = judge_definition(definition(), theirs)
    assert check.verdict is Verdict.PROBLEM
    assert message in check.message
    assert check.fix


# Rights


def test_the_rights_that_are_checked_are_those_that_are_shipped() -> None:
    def shipped(role: str) -> set[Right]:
        return {
            Right(group, resource, verb, subresource, name)
            for rule in rules_of(role)
            for group in rule["apiGroups"]
            for resource, _, subresource in (each.partition("/") for each in rule["resources"])
            for verb in rule["verbs"]
            for name in rule.get("resourceNames", [""])
        }

    assert set(operator_rights()) == shipped("kron-operator")
    assert set(lease_rights(DEFAULT_LEASE_NAME)) == shipped("kron-operator-lease")


# The leader


def lease(
    renewed_s: int = NOW_S - 1,
    version: str = kron.__version__,
    of: tuple[str, ...] = (),
    **spec: object,
) -> Lease:
    metadata = {"name": "kron-operator", "namespace": "kron-system"}
    holder = Holder("pod-1", "i", namespaces=of)
    held = Lease({"metadata": metadata}).held(holder, 15, renewed_s * 10**9)
    held["metadata"]["annotations"]["kron.io/version"] = version
    held["spec"] |= spec
    return Lease(held)


def test_what_its_holder_looks_after_counts_while_it_holds_the_lease() -> None:
    assert lease(of=("a", "b")).namespaces == {"a", "b"}
    assert lease().namespaces == {"*"}
    assert lease(holderIdentity="").namespaces == frozenset()


@pytest.mark.parametrize(
    ("given", "is_renewed", "verdicts", "message"),
    [
        pytest.param(
            lease(), False, [("leader", "ok"), ("operator-version", "ok")], "pod-1", id="well"
        ),
        pytest.param(
            lease(NOW_S - 16), False, [("leader", "problem")], "not renewed it for 16s", id="dead"
        ),
        pytest.param(
            lease(holderIdentity=""), False, [("leader", "problem")], "has had no holder", id="free"
        ),
        pytest.param(
            lease(renewTime=""), False, [("leader", "unknown")], "does not say when", id="no-time"
        ),
        pytest.param(
            lease(NOW_S - 60),
            True,
            [("leader", "ok"), ("operator-clock", "problem"), ("operator-version", "ok")],
            "is about 1m behind the API server's",
            id="a-clock-behind",
        ),
        pytest.param(
            lease(NOW_S + 60),
            True,
            [("leader", "ok"), ("operator-clock", "problem"), ("operator-version", "ok")],
            "is about 1m ahead of the API server's",
            id="a-clock-ahead",
        ),
        pytest.param(
            lease(NOW_S + 60), False, [("leader", "problem")], "1m in the future", id="from-later"
        ),
        pytest.param(
            lease(version="9.9.9"),
            False,
            [("leader", "ok"), ("operator-version", "problem")],
            "is of version 9.9.9",
            id="another-version",
        ),
        pytest.param(
            lease(version=""),
            False,
            [("leader", "ok"), ("operator-version", "problem")],
            "does not say its version",
            id="no-version",
        ),
    ],
)
def test_what_a_lease_says(
    given: Lease, is_renewed: bool, verdicts: list[tuple[str, str]], message: str
) -> None:
    checks = list(judge_lease(given, NOW_S, is_renewed=is_renewed))
    assert of(checks) == verdicts
    assert message in " ".join(each.message for each in checks)
    assert all(each.fix for each in checks if each.verdict is not Verdict.OK)


@pytest.mark.parametrize(
    ("one", "other", "shared"),
    [
        pytest.param(("a", "b"), ("b", "c"), "after b:", id="one-in-common"),
        pytest.param((), ("b", "c"), "after b, c:", id="all-and-some"),
        pytest.param((), (), "after all namespaces:", id="all-and-all"),
        pytest.param(("a",), ("b",), "", id="none-in-common"),
    ],
)
def test_two_operators_must_not_look_after_the_same_namespace(
    one: tuple[str, ...], other: tuple[str, ...], shared: str
) -> None:
    found = check_overlaps([lease(of=one), lease(of=other)])
    assert of(found) == [("leader", "problem")] * bool(shared)
    assert all(shared in check.message for check in found)


@pytest.mark.heavy
def test_a_leader_whose_clock_is_behind_is_told_from_a_dead_one(kronctl: Kronctl) -> None:
    """Its lease looks abandoned, but is renewed while one looks."""
    server = Server()
    reads = count(1)

    def lease_now() -> Object:
        return lease(int(time.time()) - 60 + next(reads)).obj

    def answer(method: str, path: str, body: object) -> Answer:
        if path.endswith("/leases"):
            return Server.items(lease_now())
        return (200, lease_now()) if "/leases/" in path else server(method, path, body)

    with answering(answer) as address:
        use(kronctl, address)
        ran = kronctl("doctor", "--format", "json")
    said = {each["subject"]: each["verdict"] for each in ran.json["checks"]}
    assert (ran.code, said["leader"], said["operator-clock"]) == (1, "ok", "problem")


@pytest.mark.parametrize(
    ("date", "verdict", "message"),
    [
        ("Sun, 01 Mar 2026 12:00:00 GMT", Verdict.OK, "agrees"),
        ("Sun, 01 Mar 2026 11:59:50 GMT", Verdict.PROBLEM, "9 s ahead of the API server's"),
        ("Sun, 01 Mar 2026 12:00:10 GMT", Verdict.PROBLEM, "10 s behind the API server's"),
    ],
)
def test_the_clock_of_this_machine_is_compared_with_the_server_s(
    date: str, verdict: Verdict, message: str
) -> None:
    heard = ServerClock(FakeClock(NOW))
    for _ in range(2):
        heard.heard(date, 0.0)
    check = check_own_clock(heard)
    assert check.verdict is verdict
    assert message in check.message


# KronJobs

READY = {"type": "Ready", "status": "True", "reason": "Scheduled", "observedGeneration": 1}
FAILED = {"name": "j", "result": "Failed", "completionTime": "2026-03-01T02:00:00Z"}
GOOD = {"name": "i", "result": "Succeeded", "completionTime": "2026-03-01T01:00:00Z"}


def content(schedule: str = "0 2 * * *", age_s: int = 3600, **status: object) -> Object:
    obj: Object = yaml.safe_load(kronjob(schedule=schedule))
    obj["metadata"] |= {
        "uid": "u",
        "resourceVersion": "1",
        "generation": 1,
        "creationTimestamp": to_text(NOW_S - age_s),
    }
    return {**obj, "status": {"conditions": [READY], **status}}


def edited(ago_s: int) -> Object:
    """One that is an hour old, was edited so long ago, and gets new statuses all the time."""
    obj = content(conditions=[READY | {"observedGeneration": 0}])
    obj["metadata"]["managedFields"] = [
        {"manager": "kubectl", "time": to_text(NOW_S - 3600)},
        {"manager": "kubectl", "time": to_text(NOW_S - ago_s)},
        {"manager": "kron-operator", "time": NOW, "subresource": "status"},
    ]
    return obj


NEVER: dict[str, Any] = {"recentRuns": [FAILED], "lastFailureTime": FAILED["completionTime"]}
LATE: dict[str, Any] = {"nextChosenTime": "2026-03-01T11:58:00Z"}


@pytest.mark.parametrize(
    ("given", "subject", "message"),
    [
        pytest.param(
            content(conditions=[READY | {"status": "False", "reason": "No", "message": "m"}]),
            Subject.READY,
            "it is not ready: No: m",
            id="not-ready",
        ),
        pytest.param(content("0 0 31 2 *"), Subject.READY, "spec.schedule", id="invalid"),
        pytest.param(content(conditions=[]), Subject.SEEN, "no operator has seen it", id="unseen"),
        pytest.param(
            content(conditions=[READY | {"observedGeneration": 0}]),
            Subject.SEEN,
            "or its last edit",
            id="an-edit-unseen",
        ),
        pytest.param(edited(90), Subject.SEEN, "or its last edit", id="an-older-edit-unseen"),
        pytest.param(content(**LATE), Subject.DUE, "2m ago", id="overdue"),
        pytest.param(content(**NEVER), Subject.RESULT, "never succeeded", id="never-succeeded"),
        pytest.param(
            content(recentRuns=[FAILED, GOOD], lastSuccessfulTime=GOOD["completionTime"]),
            Subject.RESULT,
            "its last run failed at 2026-03-01T02:00:00Z",
            id="failed",
        ),
    ],
)
def test_what_is_wrong_with_a_kronjob(given: Object, subject: Subject, message: str) -> None:
    [check] = check_kronjobs([given], "prod", NOW_S)
    assert (check.subject, check.verdict, check.kronjob) == (
        subject,
        Verdict.PROBLEM,
        "prod/backup",
    )
    assert message in check.message
    assert check.fix


@pytest.mark.parametrize(
    "given",
    [
        pytest.param(content(), id="ready"),
        pytest.param(content(conditions=[], age_s=5), id="new"),
        pytest.param(edited(5), id="edited-just-now"),
        pytest.param(content(nextChosenTime="2026-03-01T11:59:30Z"), id="due-just-now"),
        pytest.param(content("0 2 * * * @policy(suspend=true)", **LATE), id="suspended"),
        pytest.param(content(recentRuns=[GOOD | {"completionTime": NOW}, FAILED]), id="recovered"),
    ],
)
def test_what_is_in_order(given: Object) -> None:
    assert of(check_kronjobs([given], "prod", NOW_S)) == [("kronjobs", "ok")]


def test_no_kronjobs_are_no_problem() -> None:
    assert of(check_kronjobs([], None, NOW_S)) == [("kronjobs", "note")]


# The command


def test_a_cluster_that_is_away_cannot_be_checked(kronctl: Kronctl) -> None:
    use(kronctl, "http://127.0.0.1:1")
    ran = kronctl("doctor")
    assert (ran.code, ran.out) == (2, "")
    assert "cannot connect to" in ran.err


class Server:
    """A cluster in which everything is right, but for what a test changes."""

    def __init__(self) -> None:
        self.definition: Answer = 200, installed()
        self.kronjobs: Answer = self.items()
        self.allowed: bool | Callable[[Object], bool] = True
        self.lease = lease(holderIdentity="").obj

    @staticmethod
    def items(*found: Object) -> Answer:
        return 200, {"metadata": {"resourceVersion": "1"}, "items": list(found)}

    def __call__(self, method: str, path: str, body: object) -> Answer:
        if "customresourcedefinitions" in path:
            return self.definition
        if path.endswith("accessreviews"):
            assert isinstance(body, dict)
            allowed = self.allowed if isinstance(self.allowed, bool) else self.allowed(body["spec"])
            return 201, {"status": {"allowed": allowed}}
        if path.endswith("/leases"):
            return self.items(self.lease)
        if path.endswith("/kronjobs"):
            return self.kronjobs
        return 200, {"metadata": {"name": "prod"}}


@pytest.mark.heavy
def test_all_findings_come_together_and_decide_the_exit_code(kronctl: Kronctl) -> None:
    server = Server()
    server.allowed = False
    server.kronjobs = server.items(*(content(**NEVER) for _ in range(12)))
    server.definition = 404, {"kind": "Status", "reason": "NotFound", "message": "not found"}
    with answering(server) as address:
        use(kronctl, address)
        ran = kronctl("doctor")
        document = kronctl("doctor", "--format", "json").json
        styled = kronctl("doctor", "--color", "always")
    assert (ran.code, ran.err) == (1, "")
    assert "problem  definition: the KronJob resource is not installed" in ran.out
    assert "         next: kron-operator crd | kubectl apply" in ran.out
    assert "problem  operator-rights: " in ran.out
    assert "note     own-rights: in prod, you have no right to: list (list kronjobs)" in ran.out
    assert ran.out.count("problem  kronjob-result: ") == 10
    assert "... and 2 more KronJobs" in ran.out
    assert ran.lines[-1] == "16 problems, 0 not checked"
    assert document["healthy"] is False
    assert len([c for c in document["checks"] if c["subject"] == "kronjob-result"]) == 12
    assert "\x1b[1;31mproblem" in styled.out


def test_what_may_not_be_read_is_not_called_healthy(kronctl: Kronctl) -> None:
    forbidden = 403, {"kind": "Status", "reason": "Forbidden", "message": "forbidden"}

    def answer(method: str, path: str, body: object) -> Answer:
        if path.endswith("/kronjobs"):
            return Server.items()
        return forbidden

    with answering(answer) as address:
        use(kronctl, address)
        ran = kronctl("doctor", "-A")
    assert ran.code == 2
    assert [line.split()[1] for line in ran.lines if line.startswith("unknown")] == [
        "definition:",
        "own-rights:",
        "leader:",
        "operator-rights:",
    ]


FORBIDDEN: Answer = 403, {"kind": "Status", "reason": "Forbidden", "message": "forbidden"}


def checks_of(kronctl: Kronctl, server: Callable[..., Answer], *words: str) -> dict[str, Any]:
    """What the doctor says, by subject; of several checks of one subject, the last."""
    with answering(server) as address:
        use(kronctl, address)
        document = kronctl("doctor", *words, "--format", "json").json
    return {each["subject"]: each for each in document["checks"]}


def held_by(pod: str, account: str) -> Callable[..., Answer]:
    """A cluster in which a Pod of this service account leads."""
    server = Server()
    server.lease = lease(int(time.time()), holderIdentity=f"{pod}_uid").obj
    users: list[str] = []

    def is_allowed(spec: Object) -> bool:
        users.append(spec.get("user", ""))
        return spec.get("user", "") in ("", f"system:serviceaccount:kron-system:{account}")

    server.allowed = is_allowed

    def answer(method: str, path: str, body: object) -> Answer:
        if path.endswith(f"/namespaces/kron-system/pods/{pod}"):
            return 200, {"metadata": {"name": pod}, "spec": {"serviceAccountName": account}}
        return server(method, path, body)

    return answer


@pytest.mark.heavy
def test_the_rights_are_those_of_the_pod_that_leads(kronctl: Kronctl) -> None:
    check = checks_of(kronctl, held_by("kron-7d-x", "ours"))["operator-rights"]
    assert (check["verdict"], check["fix"]) == ("ok", "")
    assert "kron-system/ours" in check["message"]


@pytest.mark.heavy
def test_the_rights_of_an_operator_beside_the_cluster_are_not_known(kronctl: Kronctl) -> None:
    gone: Answer = 404, {"kind": "Status", "reason": "NotFound", "message": "not found"}
    inside = held_by("laptop", "ours")

    def answer(method: str, path: str, body: object) -> Answer:
        return gone if "/pods/" in path else inside(method, path, body)

    check = checks_of(kronctl, answer)["operator-rights"]
    assert check["verdict"] == "note"
    assert "--service-account" in check["fix"]


@pytest.mark.heavy
def test_an_operator_may_be_confined_to_where_kronjobs_are(kronctl: Kronctl) -> None:
    server = Server()
    server.kronjobs = server.items(content())
    confined = ["prod"]

    def is_allowed(spec: Object) -> bool:
        asked = spec["resourceAttributes"]
        return "user" not in spec or asked["namespace"] in ("kron-system", *confined)

    server.allowed = is_allowed
    well = checks_of(kronctl, server, "-A")["operator-rights"]
    assert (well["verdict"], "in prod" in well["message"]) == ("ok", True)
    confined[0] = "elsewhere"
    ill = checks_of(kronctl, server, "-A")["operator-rights"]
    assert ill["verdict"] == "problem"
    assert "no right to get kronjobs in prod" in ill["message"]
    server.kronjobs = server.items()
    assert checks_of(kronctl, server, "-A")["operator-rights"]["verdict"] == "note"


@pytest.mark.heavy
def test_where_nobody_may_look_for_leases_the_doctor_does_not_know(kronctl: Kronctl) -> None:
    server = Server()

    def answer(method: str, path: str, body: object) -> Answer:
        if path.endswith("/leases"):
            return Server.items() if "/namespaces/" in path else FORBIDDEN
        return server(method, path, body)

    check = checks_of(kronctl, answer)["leader"]
    assert check["verdict"] == "unknown"
    assert "--lease-namespace" in check["fix"]


@pytest.mark.heavy
def test_a_check_that_fails_does_not_end_the_others(kronctl: Kronctl) -> None:
    server = Server()
    server.lease = lease(int(time.time()) - 60).obj  # so it is read again, which is forbidden

    def answer(method: str, path: str, body: object) -> Answer:
        return FORBIDDEN if "/leases/" in path else server(method, path, body)

    said = checks_of(kronctl, answer, "-n", "prod")
    assert (said["leader"]["verdict"], said["kronjobs"]["verdict"]) == ("unknown", "note")

    def without_namespace(method: str, path: str, body: object) -> Answer:
        if path.endswith("/namespaces/away"):
            return 404, {"kind": "Status", "reason": "NotFound", "message": "not found"}
        return answer(method, path, body)

    said = checks_of(kronctl, without_namespace, "-n", "away")
    assert said["kronjobs"]["verdict"] == "unknown"
    assert "away" in said["kronjobs"]["message"]


@pytest.mark.heavy
def test_nothing_of_a_cluster_can_forge_a_line_or_move_the_cursor(kronctl: Kronctl) -> None:
    evil = "m\x1b[31m\nok       leader: fake\x9b2J"
    server = Server()
    server.lease = lease(int(time.time()), holderIdentity=evil).obj
    server.kronjobs = server.items(content(recentRuns=[FAILED | {"message": evil, "name": evil}]))
    with answering(server) as address:
        use(kronctl, address)
        ran = kronctl("doctor")
    assert "its last run failed" in ran.out
    assert all(line.isprintable() for line in ran.lines)
    assert not any(line.startswith("ok       leader: fake") for line in ran.lines)
