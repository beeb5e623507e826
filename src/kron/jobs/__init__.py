"""A job and the files it is written in: krontab files and crontabs, read, checked and edited."""
