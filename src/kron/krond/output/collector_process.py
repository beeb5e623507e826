"""A collector as krond sees it: its process, and both ends of the connection to it."""

from __future__ import annotations

import select
import socket
from array import array

from kron.krond.configuration.settings import OutputSettings
from kron.krond.handover import HeldCollector
from kron.krond.output.wire import LONGEST, MOST_DESCRIPTORS, Delivery
from kron.krond.process.sidecar import spawn_sidecar

TYPE_CHECKING = False
if TYPE_CHECKING:
    from kron.krond.output.captures import Capture

_COLLECTOR = "kron.krond.output.collector"


class CollectorProcess:
    def __init__(
        self, pid: int, control: socket.socket, its_end: socket.socket, began_ns: int
    ) -> None:
        self.pid = pid
        self.control = control
        self._its_end = its_end
        """krond keeps its copy of that end, to see what was not taken and to take it back."""
        self.captures: dict[str, Capture] = {}
        self.began_ns = began_ns
        self.watched = -1
        self.is_retired = False
        """Another one gets what comes; this one serves what it has."""

    @classmethod
    def start(cls, settings: OutputSettings, began_ns: int) -> CollectorProcess:
        control, its_end = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        try:
            control.setblocking(False)
            kept = (settings.directory, str(settings.most), str(settings.age_s))
            pid = spawn_sidecar("krond-output", _COLLECTOR, *kept, control=its_end.fileno())
            return cls(pid, control, its_end, began_ns)
        except BaseException:
            control.close()
            its_end.close()
            raise

    @classmethod
    def held(cls, collector: HeldCollector, began_ns: int) -> CollectorProcess:
        """A collector that the program before this one has left."""
        control, its_end = (socket.socket(fileno=descriptor) for descriptor in collector.ends)
        control.setblocking(False)
        return cls(collector.pid, control, its_end, began_ns)

    def hold(self) -> HeldCollector:
        ends = (self.control.fileno(), self._its_end.fileno())
        return HeldCollector(self.pid, ends, [each.hold() for each in self.captures.values()])

    def retire(self) -> None:
        """Send it nothing more, so that it ends with the last of its pipes."""
        self.is_retired = True
        self.control.shutdown(socket.SHUT_WR)

    def has_ended(self) -> bool:
        """Whether it was killed, even if krond has not dealt with that yet."""
        poller = select.poll()
        poller.register(self.watched, select.POLLIN)
        return bool(poller.poll(0))

    def close(self) -> None:
        self.control.close()
        self._its_end.close()

    def first_unread(self) -> str:
        """The run id of the first packet that it has not taken, or ''."""
        try:
            data = self._its_end.recv(LONGEST, socket.MSG_PEEK | socket.MSG_DONTWAIT)
        except BlockingIOError:
            return ""
        return Delivery.unpacked(data).run_id

    def withdrawn(self) -> tuple[Delivery, list[int], bool] | None:
        """The first packet that it has not taken, which it never will then.

        With the descriptors, and whether those are all of them.
        """
        room = socket.CMSG_SPACE(MOST_DESCRIPTORS * array("i").itemsize)
        how = socket.MSG_DONTWAIT | socket.MSG_CMSG_CLOEXEC  # socket.recv_fds ignores its flags
        try:
            data, parts, flags, _ = self._its_end.recvmsg(LONGEST, room, how)
        except BlockingIOError:
            return None
        if not data:
            return None
        descriptors = [each for _, _, part in parts for each in array("i", part)]
        return Delivery.unpacked(data), descriptors, not flags & socket.MSG_CTRUNC
