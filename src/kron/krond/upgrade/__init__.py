"""An upgrade: the new program is tried, gets what cannot go through the disk, and is executed."""
