"""The mailer: the host's sendmail, which takes a message and knows what to do with it."""

from __future__ import annotations

import os
import pwd

from kron.jobs.hooks import SENDMAILS
from kron.jobs.task import Task

SENDMAIL = "KRON_SENDMAIL"
"""The variable of krond's environment that names another program."""


def sendmail() -> str:
    """Its path; '' if the host has none."""
    places = (os.environ.get(SENDMAIL, ""), *SENDMAILS)
    return next((path for path in places if path and os.access(path, os.X_OK)), "")


def mail_task(program: str, task: Task) -> Task:
    """To send a message as the user of a job, as cron does; it names the recipients itself.

    A dot on a line does not end it (-i). krond's own environment may have secrets, so it has
    nothing of that.
    """
    argv = (program, "-i", "-t")
    user, group = task.user, task.group
    return Task(command=program, argv=argv, user=user, group=group, cwd="/", inherits_env=False)


def user_name(user: str) -> str:
    """The name of the user that a job names; of krond's own if it names none."""
    if user:
        return user
    try:
        return pwd.getpwuid(os.geteuid()).pw_name
    except KeyError:
        return str(os.geteuid())
