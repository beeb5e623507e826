"""What tells an adapter when to look again: the clocks, a timer on the wall clock, a queue."""
