from __future__ import annotations

from pathlib import Path

from tests.krond.host import Host


def test_a_run_starts_at_its_chosen_second_and_its_end_is_logged(tmp_path: Path) -> None:
    with Host(tmp_path) as host:
        schedule = host.soon("hello")
        host.write(f'{schedule} name=hello command="/bin/echo hi" stdout=file:{tmp_path}/hi.log')
        host.start()
        host.wait_for_event("started", "hello")
        exited = host.wait_for_event("exited", "hello")
        assert host.stop() == 0
        assert exited["exit_code"] == "0"
        assert (tmp_path / "hi.log").read_text() == "hi\n"
        host.check_log()
