"""One module a sub-command, imported when it is used; kron.console.program says what is in it."""
