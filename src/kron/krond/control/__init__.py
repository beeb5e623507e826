"""The control socket, by which the commands reach a running krond: both sides."""
