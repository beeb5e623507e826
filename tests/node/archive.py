"""Images of one layer, made of files of this machine, as archives that containerd imports."""

from __future__ import annotations

import hashlib
import io
import json
import shutil
import tarfile
from pathlib import Path

BUSYBOX = "busybox:tests"
_SLEEP = ["/bin/busybox", "sleep", "2147483647"]


def write_busybox(path: Path, pause: str) -> None:
    """Debian's static busybox, for the Pods of tests, also as what keeps a Pod's sandbox alive."""
    program = shutil.which("busybox")
    assert program is not None
    layer = _tar({"bin/busybox": Path(program).read_bytes()}, {"bin/sh": "busybox"})
    configuration = {
        "architecture": "amd64",
        "os": "linux",
        "config": {"Entrypoint": _SLEEP, "Env": ["PATH=/bin"]},
        "rootfs": {"type": "layers", "diff_ids": [f"sha256:{hashlib.sha256(layer).hexdigest()}"]},
    }
    named = {"Config": "config.json", "RepoTags": [BUSYBOX, pause], "Layers": ["layer.tar"]}
    files = {
        "layer.tar": layer,
        "config.json": json.dumps(configuration).encode(),
        "manifest.json": json.dumps([named]).encode(),
    }
    path.write_bytes(_tar(files, {}))


def _tar(files: dict[str, bytes], links: dict[str, str]) -> bytes:
    made = io.BytesIO()
    with tarfile.open(fileobj=made, mode="w") as archive:
        for name, content in files.items():
            member = tarfile.TarInfo(name)
            member.size, member.mode = len(content), 0o755
            archive.addfile(member, io.BytesIO(content))
        for name, target in links.items():
            member = tarfile.TarInfo(name)
            member.type, member.linkname = tarfile.SYMTYPE, target
            archive.addfile(member)
    return made.getvalue()
