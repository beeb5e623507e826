"""What the commands share: programs, their help, parsers, terminals and reports."""
