"""One module a sub-command, imported when it is used.

Each has DESCRIPTION and EXAMPLES for its help, `add_arguments(parser)`, and
`run(arguments, terminal)`, which returns the exit code.
"""
