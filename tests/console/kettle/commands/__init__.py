"""The sub-commands of a program that is made up."""
