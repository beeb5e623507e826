"""Reading the small files that say where a cluster is and who we are to it."""

from __future__ import annotations

from kron.core.errors import Code, KronError, visible

MOST_BYTES = 4 * 1024 * 1024


def read_secret(name: str, path: str) -> bytes:
    """The content of the file that `name` (the place of a key in a kubeconfig) points to."""
    try:
        return read_file(path)
    except OSError as error:
        message = f"{name}: {visible(path)} cannot be read: {error.strerror or error}"
        raise KronError(Code.CLUSTER, message, fix="name a file that can be read") from None


def read_file(path: str) -> bytes:
    """The content of a file of a bounded size; OSError otherwise."""
    import os

    def open_at_once(name: str, flags: int) -> int:
        # A pipe without a writer would hold us up; one with a writer, `<(...)`, is waited for.
        descriptor = os.open(name, flags | os.O_NONBLOCK)
        os.set_blocking(descriptor, True)
        return descriptor

    with open(path, "rb", opener=open_at_once) as file:
        content = file.read(MOST_BYTES + 1)
    if len(content) > MOST_BYTES:
        raise OSError(None, f"it is longer than {MOST_BYTES} bytes")
    return content
