"""One module for each sub-command, imported when it is used; see kron.console.program."""
