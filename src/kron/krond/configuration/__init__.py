"""The configuration: krond's own settings, and the files of its jobs, read and watched."""
