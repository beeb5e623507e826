"""From a schedule's text to a decision. Pure: no clock, no ambient randomness, no I/O."""
