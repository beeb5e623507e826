"""Hooks and mail on a real krond: who hears of what, with which facts, and what cannot go wrong."""

from __future__ import annotations

import os
import random
import shutil
import ssl
import subprocess
import threading
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from email import message_from_bytes, policy
from email.message import EmailMessage
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest

from tests.krond.children import Family, children_of, is_alive, open_directory, wait_until_gone
from tests.krond.process.expected import needs_root
from tests.logbook import wait_for

KEEP = "stdout=keep stderr=keep"
FACTS = "env | grep ^KRON_ | sort > facts.$KRON_EVENT.new; cat > stdin.$KRON_EVENT"
DONE = "mv facts.$KRON_EVENT.new facts.$KRON_EVENT; echo $KRON_EVENT $KRON_RUN_ID >> heard"


class Listener(Family):
    """A host whose jobs have hooks."""

    def __enter__(self) -> Listener:
        return self

    def start_keeping(self, *options: str, env: dict[str, str] | None = None) -> None:
        self.start("--output-dir", str(self.outputs), *options, env=env)

    def box(self) -> None:
        """A directory that all users can write."""
        self.path("box").mkdir()
        self.path("box").chmod(0o777)

    def facts(self, event: str) -> dict[str, str]:
        text = wait_for(lambda: self._facts(event), f"the facts of {event}")
        return dict(line.split("=", 1) for line in text.splitlines() if "KRON_TEST" not in line)

    def _facts(self, event: str) -> str:
        path = self.path(f"facts.{event}")
        return path.read_text() if path.exists() else ""

    def heard(self) -> Counter[str]:
        """What the hook was called for, and of which run: how often."""
        path = self.path("heard")
        return Counter(path.read_text().splitlines() if path.exists() else [])

    def spooled(self) -> list[str]:
        spool = self.state / "notices"
        return [each.name for each in spool.iterdir()] if spool.exists() else []

    def wait_until_all_is_delivered(self) -> None:
        wait_for(lambda: not self.spooled(), "the spool is empty")


@pytest.fixture
def host(tmp_path: Path) -> Iterator[Listener]:
    with Listener(tmp_path) as made:
        yield made


def hook_fields(host: Listener, *lines: str, events: str = "start success failure missed") -> str:
    hook = host.script("hook", *(lines or (FACTS, DONE)))
    return " ".join(f"on_{event}={hook}" for event in events.split())


def test_each_hook_has_the_facts_and_the_end_of_the_output(host: Listener) -> None:
    fields = f"{hook_fields(host)} {KEEP} env=MINE=yes"
    host.write(
        host.job("good", "echo printed; echo error >&2", fields=fields),
        host.job("bad", "head -c 20000 /dev/zero | tr '\\0' x; echo last; exit 3", fields=fields),
        host.job("absent", fields=fields).replace(".sh", ".missing", 1),
    )
    host.start_keeping()
    run_id = host.trigger("good")
    facts = host.facts("success")
    started = host.facts("start")
    kept = facts["KRON_OUTPUT"]
    assert Path(kept).read_text() == "printed\nerror\n"
    assert kept.startswith(str(host.outputs))
    assert float(facts["KRON_SECONDS"]) < 30
    assert facts | {"KRON_OUTPUT": "", "KRON_SECONDS": ""} == {
        "KRON_EVENT": "success",
        "KRON_JOB": "good",
        "KRON_PERIOD": "",
        "KRON_CHOSEN": "",
        "KRON_RUN_ID": run_id,
        "KRON_ATTEMPT": "1",
        "KRON_OUTCOME": "manual",
        "KRON_EXIT_CODE": "0",
        "KRON_SIGNAL": "",
        "KRON_REASON": "",
        "KRON_SECONDS": "",
        "KRON_COUNT": "1",
        "KRON_OUTPUT": "",
    }
    assert (started["KRON_RUN_ID"], started["KRON_EXIT_CODE"]) == (run_id, "")
    assert host.path("stdin.success").read_text() == "printed\nerror\n"
    host.trigger("bad")
    facts = host.facts("failure")
    assert (facts["KRON_EXIT_CODE"], facts["KRON_JOB"]) == ("3", "bad")
    tail = host.path("stdin.failure").read_text()
    assert (len(tail), tail[-7:]) == (10_000, "xxlast\n")
    host.path("facts.failure").unlink()
    host.command("trigger", "absent")
    facts = host.facts("failure")
    assert facts["KRON_JOB"] == "absent"
    assert "does not exist" in facts["KRON_REASON"]
    host.wait_until_all_is_delivered()
    sent = host.wait_for_event("notice_sent", "absent")
    assert (sent["about"], sent["means"]) == ("failure", "command")
    host.has_no_zombie()
    host.check_log()


def test_a_hook_of_a_shell_job_goes_to_its_shell(host: Listener) -> None:
    hook = f'on_success="cat > {host.directory}/piped; exit 0 | true"'
    host.write(host.job("job", "echo printed", fields=f"shell=true {KEEP} {hook}"))
    host.start_keeping()
    host.trigger("job")
    wait_for(lambda: host.path("piped").exists() and host.path("piped").read_text(), "the hook")
    assert host.path("piped").read_text() == "printed\n"


@needs_root
def test_a_hook_runs_as_the_user_of_its_job() -> None:
    with open_directory() as directory, Listener(directory) as host:
        host.box()
        fields = hook_fields(host, "cd box; (id -un; ulimit -n; cat) > who", events="success")
        host.write(
            host.job("job", "echo out", fields=f"{fields} user=nobody limit_nofile=77 {KEEP}")
        )
        host.start_keeping()
        host.trigger("job")
        host.wait_for_event("notice_sent", "job")
        assert host.path("box/who").read_text() == "nobody\n77\nout\n"


def test_periods_that_were_missed_are_one_notice_with_their_number(host: Listener) -> None:
    fields = hook_fields(host, events="missed")
    host.write(f"* * * * * name=job command=/bin/true {fields}")
    host.start()
    host.stop()
    state = host.state_path("job")
    since = time.strftime("%Y-%m-%dT%H:%M:00Z", time.gmtime(time.time() - 86_400))
    host.rewrite(
        state, lambda found: found["ledger"].update(since=since, handled_through=None, handled=[])
    )
    host.start()
    facts = host.facts("missed")
    assert int(facts["KRON_COUNT"]) >= 1_438
    assert (facts["KRON_OUTCOME"], facts["KRON_RUN_ID"]) == ("missed", "")
    assert "overdue" in facts["KRON_REASON"]
    host.wait_until_all_is_delivered()
    assert sum(host.heard().values()) == len(host.events("missed_deadline"))


def test_a_hook_that_hangs_or_fails_delays_and_fails_no_run(host: Listener) -> None:
    hanging = f"on_start={host.script('sleeper', 'touch hangs; exec sleep 1000')}"
    failing = f"on_success={host.script('failer', 'exit 7')} on_start=/nonexistent/hook"
    host.write(host.job("hangs", "exit 0", fields=hanging), host.job("fails", fields=failing))
    host.start()
    for _ in range(3):
        host.wait_for_run("exited", host.trigger("hangs"))
        assert host.wait_for_run("exited", host.trigger("fails"))["exit_code"] == "0"
    assert wait_for(lambda: host.path("hangs").exists(), "the hook that hangs")
    lost = host.wait_for_events("notice_lost", "fails", count=6)
    reasons = Counter((each["about"], each["reason"]) for each in lost)
    assert reasons == {
        ("success", "exit code 7"): 3,
        ("start", 'the program "/nonexistent/hook" does not exist'): 3,
    }
    assert {each.level for each in lost} == {"ERROR"}
    assert len(host.spooled()) == 3, "those of the one that hangs wait for it, in order"


def test_a_hook_is_not_mistaken_for_the_run_that_it_is_about(host: Listener) -> None:
    hook = host.script("hook", "echo $$ > hook.pid.new; mv hook.pid.new hook.pid; exec sleep 1000")
    host.write(host.job("job", "exec sleep 1000", fields=f"on_start={hook} grace=0s"))
    host.start()
    run_id = host.trigger("job")
    run, hook_pid = host.pid_of(run_id), int(host.wait_for_file("hook.pid"))
    host.kill()
    os.kill(run, 9)

    def unknown(found: dict[str, list[dict[str, object]]]) -> None:
        for record in found["active"]:
            record |= {"pid": None, "ticks": None}

    host.rewrite(host.state_path("job"), unknown)
    host.proof(run_id).write_bytes(b"")  # as if krond was killed before it noted the process
    host.start()
    assert is_alive(hook_pid)
    ended = host.wait_for_run("exited", run_id)
    assert "unknown" in ended["reason"]
    assert host.events("adopted") == []


def test_killed_at_random_krond_lets_everybody_know_at_least_once(host: Listener) -> None:
    dice = random.Random(14)
    fields = f"{hook_fields(host, DONE, events='start success failure')} {KEEP}"
    names = ("one", "two", "three")
    lines = ("echo $KRON_RUN_ID >> ran", "sleep 0.0$(($$ % 9))", "exit 1")
    host.write(*(host.job(name, *lines, fields=fields) for name in names))
    for _ in range(4):
        host.start_keeping()
        for name in names:
            host.trigger(name)
        time.sleep(dice.random() * 0.3)
        host.kill()
    host.start_keeping()
    host.wait_until_all_is_delivered()
    ran = Counter(host.path("ran").read_text().split())
    assert set(ran.values()) == {1}
    heard = host.heard()
    for run_id in ran:
        assert heard[f"start {run_id}"] >= 1
        assert heard[f"failure {run_id}"] >= 1
        assert f"success {run_id}" not in heard
    assert host.events("notice_lost") == []


def test_where_the_spool_cannot_be_written_the_log_says_so_and_the_hook_runs(
    host: Listener,
) -> None:
    host.write(host.job("job", fields=hook_fields(host, events="success")))
    host.start()
    (host.state / "notices").write_text("not a directory")
    host.trigger("job")
    assert host.facts("success")["KRON_JOB"] == "job"
    error = host.wait_for_event("error", "job")
    assert (error["operation"], error.level) == ("keep a notice", "ERROR")
    assert "lost if krond ends before it is delivered" in error["error"]


def test_once_waits_for_the_hooks_also_of_a_period_whose_retry_is_too_late(host: Listener) -> None:
    fields = hook_fields(host, "sleep 0.5", FACTS, DONE, events="failure")
    fields += f" {KEEP} retries=1 retry_delay=1h retry_within=1m"
    fails = host.script("fails", "echo why; exit 3")
    host.write(f"* * * * * @policy(deadline=1h) name=job command={fails} {fields}")
    host.launch("--once")
    assert host.wait() == 0
    since = time.strftime("%Y-%m-%dT%H:%M:00Z", time.gmtime(time.time() - 120))
    host.rewrite(
        host.state_path("job"),
        lambda found: found["ledger"].update(since=since, handled_through=None, handled=[]),
    )
    host.launch("--once")
    assert host.wait() == 0
    assert sum(host.heard().values()) >= 1
    assert host.facts("failure")["KRON_RUN_ID"].endswith(".2"), "the attempt that did not start"
    assert host.path("stdin.failure").read_text() == "why\n"
    assert host.spooled() == []


# Pings


class Site(ThreadingHTTPServer):
    """A monitor that remembers what it was asked, and answers what a test wants."""

    daemon_threads = True

    def __init__(self, port: int = 0) -> None:
        super().__init__(("127.0.0.1", port), _Handler)
        self.asked: list[tuple[str, str]] = []
        self.codes: list[int] = []
        """The next answers; then 200."""
        self.hangs = threading.Event()
        self.hanging = ""
        """Which requests are never answered."""
        threading.Thread(target=self.serve_forever, daemon=True).start()

    @property
    def port(self) -> int:
        return int(self.server_address[1])

    def wait_for(self, start: str, count: int = 1) -> tuple[str, str]:
        def look() -> list[tuple[str, str]] | None:
            found = [each for each in self.asked if each[0].startswith(start)]
            return found if len(found) >= count else None

        return wait_for(look, f"{count} x {start}")[count - 1]

    def close(self) -> None:
        self.hangs.set()
        self.shutdown()
        self.server_close()


class _Handler(BaseHTTPRequestHandler):
    server: Site

    def do_POST(self) -> None:
        body = self.rfile.read(int(self.headers["Content-Length"])).decode()
        self.server.asked.append((self.path, body))
        if self.server.hanging and self.server.hanging in self.path:
            self.server.hangs.wait()
            return
        code = self.server.codes.pop(0) if self.server.codes else 200
        self.send_response(code)
        if code in (302, 307):
            self.send_header("Location", "http://127.0.0.1:1/plain")
        self.send_header("Content-Length", "0")
        self.end_headers()

    def log_message(self, *_: object) -> None:
        pass


@contextmanager
def site_with(certificate: Path | None = None, port: int = 0) -> Iterator[Site]:
    site = Site(port)
    try:
        if certificate is not None:
            context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
            context.load_cert_chain(certificate)
            site.socket = context.wrap_socket(site.socket, server_side=True)
        yield site
    finally:
        site.close()


@pytest.fixture(scope="module")
def certificate(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A certificate for localhost that signs itself, with its key."""
    if shutil.which("openssl") is None:
        pytest.skip("openssl is not installed")
    directory = tmp_path_factory.mktemp("certificate")
    words = ["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256"]
    words += ["-nodes", "-days", "2", "-subj", "/CN=localhost"]
    words += ["-addext", "subjectAltName=DNS:localhost", "-keyout", "key.pem", "-out", "cert.pem"]
    subprocess.run(words, cwd=directory, capture_output=True, check=True)
    both = directory / "both.pem"
    both.write_text((directory / "key.pem").read_text() + (directory / "cert.pem").read_text())
    return both


SECRET = "9b2e-secret"


def ping_fields(site: Site, more: str = "") -> str:
    url = f"https://localhost:{site.port}/{SECRET}/x{more}"
    return " ".join(f"on_{event}={url}" for event in ("start", "success", "failure", "missed"))


def test_urls_are_pinged_in_the_manner_of_healthchecks(host: Listener, certificate: Path) -> None:
    with site_with(certificate) as site:
        fields = ping_fields(site, "?create=1")
        host.write(
            host.job("good", "echo fine", fields=f"{fields} {KEEP}"),
            host.job("bad", "echo wrong; exit 9", fields=f"{fields} {KEEP}"),
            host.job("ended", "kill -9 $$", fields=fields),
        )
        host.start_keeping(env={**os.environ, "SSL_CERT_FILE": str(certificate)})
        base = f"/{SECRET}/x"
        for name, ends in (("good", ""), ("bad", "/9"), ("ended", "/fail")):
            site.asked.clear()
            host.wait_for_run("exited", host.trigger(name))
            wait_for(lambda: len(site.asked) == 2, f"both pings of {name}")
            (start, _), (end, body) = site.asked
            assert start.startswith(f"{base}/start?create=1&rid=")
            assert end == f"{base}{ends}{start[start.index('?') :]}", "the run is the same"
            wanted = {"good": "fine\n", "bad": "wrong\n", "ended": "ended was ended by SIGKILL\n"}
            assert body == wanted[name]
        (pinger,) = [each for each in children_of(host.pid) if b"pinger" in _command_line(each)]
        if os.geteuid() == 0:
            assert Path(f"/proc/{pinger}").stat().st_uid == 65_534
        sent = host.wait_for_events("notice_sent", count=6)
        assert {each["target"] for each in sent} == {f"https://localhost:{site.port}"}
        # The URL is a secret.
        assert SECRET.encode() not in b"".join(map(_command_line, children_of(host.pid)))
        status = host.command("status", "--format", "json").stdout
        assert SECRET not in host.log.read_text() + status + host.said()
        assert host.stop() == 0
        wait_until_gone(pinger)


def _command_line(pid: int) -> bytes:
    try:
        return Path(f"/proc/{pid}/cmdline").read_bytes()
    except OSError:
        return b""


def test_a_ping_is_tried_again_and_a_server_that_hangs_holds_up_no_other(
    host: Listener, certificate: Path
) -> None:
    with site_with(certificate) as site:
        site.hanging = "hanging"
        site.codes = [503]
        url = f"https://localhost:{site.port}/{SECRET}"
        host.write(
            *(host.job(f"hangs-{n}", fields=f"on_success={url}/hanging-{n}") for n in range(3)),
            host.job("job", fields=f"on_success={url}/job"),
            host.job("gone", fields=f"on_success={url}/gone"),
            host.job("moved", fields=f"on_success={url}/moved"),
        )
        host.start(env={**os.environ, "SSL_CERT_FILE": str(certificate)})
        for number in range(3):
            host.trigger(f"hangs-{number}")
            site.wait_for(f"/{SECRET}/hanging-{number}")
        host.trigger("job")
        warning = host.wait_for_event("error", "job")
        assert warning.level == "WARN"
        assert f"https://localhost:{site.port}: the server answers 503" in warning["error"]
        site.wait_for(f"/{SECRET}/job", count=2)
        for name, code, reason in (
            ("gone", 404, "the server answers 404"),
            ("moved", 302, "the server redirects to an address that is not encrypted"),
        ):
            site.codes = [code]
            host.trigger(name)
            assert host.wait_for_event("notice_lost", name)["reason"] == reason
        assert SECRET not in host.log.read_text() + host.said()


def test_a_certificate_that_nobody_vouches_for_is_refused(
    host: Listener, certificate: Path
) -> None:
    with site_with(certificate) as site:
        host.write(host.job("job", fields=ping_fields(site)))
        host.start()
        host.trigger("job")
        lost = host.wait_for_events("notice_lost", "job", count=2)
        assert all("its certificate is refused" in each["reason"] for each in lost)
        assert site.asked == []


def test_what_is_not_encrypted_is_sent_to_no_proxy(host: Listener) -> None:
    with site_with() as site, site_with() as proxy:
        host.write(host.job("job", fields=f"on_success=http://localhost:{site.port}/x"))
        names = ("http_proxy", "HTTP_PROXY", "all_proxy", "ALL_PROXY")
        url = f"http://127.0.0.1:{proxy.port}"
        host.start(env={**os.environ, **dict.fromkeys(names, url), "no_proxy": ""})
        host.trigger("job")
        site.wait_for("/x")
        assert proxy.asked == []


def test_the_next_krond_delivers_what_was_not_delivered(host: Listener) -> None:
    with site_with() as site:
        port = site.port
    host.write(host.job("job", "echo out", fields=f"on_success=http://localhost:{port}/x {KEEP}"))
    host.start_keeping()
    run_id = host.trigger("job")
    assert "Connection refused" in host.wait_for_event("error", "job")["error"]
    host.kill()
    assert len(host.spooled()) == 1
    assert "localhost" not in (host.state / "notices" / host.spooled()[0]).read_text()
    with site_with(port=port) as site:
        host.start_keeping()
        _, body = site.wait_for("/x")
        assert body == "out\n"
        assert host.wait_for_event("notice_sent", "job")["run_id"] == run_id
        host.wait_until_all_is_delivered()


# Mail


class Post(Listener):
    """A host with a sendmail that records."""

    def __enter__(self) -> Post:
        return self

    def start_with_sendmail(self, *options: str) -> None:
        program = self.script(
            "sendmail",
            '(id -un; echo "$@") > box/$$.call',
            "cat > box/$$.new; mv box/$$.new box/$$.eml",
        )
        env = {**os.environ, "KRON_SENDMAIL": str(program)}
        self.start("--output-dir", str(self.outputs), *options, env=env)

    def mails(self) -> list[EmailMessage]:
        files = sorted(self.path("box").glob("*.eml"), key=lambda path: path.stat().st_mtime_ns)
        return [message_from_bytes(each.read_bytes(), policy=policy.default) for each in files]

    def wait_for_mails(self, count: int) -> list[EmailMessage]:
        def look() -> list[EmailMessage] | None:
            return found if len(found := self.mails()) >= count else None

        return wait_for(look, f"{count} mails")


@needs_root
def test_mail_goes_through_sendmail_as_the_user_of_the_job() -> None:
    with open_directory() as directory, Post(directory) as host:
        host.box()
        mail = f"mail=ops@example.org,root user=nobody {KEEP}"
        host.write(
            host.job("bad", "printf 'caf\\303\\251 \\033[31m \\377\\n'; exit 2", fields=mail),
            host.job("good", "echo fine", fields=mail),
            host.job("always", fields=f"{mail} mail_on=always mail_from=krond@example.org"),
            host.job("prints", "echo fine", fields=f"{mail} mail_on=output"),
            host.job("silent", "exit 5", fields=f"{mail} mail_on=output"),
        )
        host.start_with_sendmail()
        run_id = host.trigger("bad")
        (mail_of_bad,) = host.wait_for_mails(1)
        (call,) = host.path("box").glob("*.call")
        assert call.read_text() == "nobody\n-i -t\n"
        assert mail_of_bad["To"] == "ops@example.org, root"
        assert mail_of_bad["From"] == "nobody"
        assert mail_of_bad["Subject"].endswith(": bad failed with exit code 2")
        assert mail_of_bad["Auto-Submitted"] == "auto-generated"
        assert (mail_of_bad["X-Kron-Job"], mail_of_bad["X-Kron-Run-Id"]) == ("bad", run_id)
        text = mail_of_bad.get_content()
        assert "\ncafé \\x1b[31m \\xff\n" in text
        assert "exit code  2\n" in text
        for name in ("good", "silent", "always", "prints"):
            host.wait_for_run("exited", host.trigger(name))
        host.wait_until_all_is_delivered()
        _, *others = host.wait_for_mails(3)
        assert {each["X-Kron-Job"] for each in others} == {"always", "prints"}
        (always,) = [each for each in others if each["X-Kron-Job"] == "always"]
        assert (always["From"], len(others)) == ("krond@example.org", 2)


def test_mail_that_sendmail_refuses_is_tried_again(host: Listener) -> None:
    program = host.script("sendmail", "[ -e ready ] && cat > mail || { touch ready; exit 75; }")
    host.write(host.job("job", "exit 1", fields="mail=root"))
    host.start(env={**os.environ, "KRON_SENDMAIL": str(program)})
    host.trigger("job")
    assert "exit code 75" in host.wait_for_event("error", "job")["error"]
    host.wait_for_event("notice_sent", "job")
    assert "failed with exit code 1" in host.path("mail").read_text()
