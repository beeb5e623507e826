"""One module for each sub-command, imported when it is used; see kron.console.program.

`health` is what `check` decides.
"""
