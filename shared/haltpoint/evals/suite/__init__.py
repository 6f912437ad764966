"""The kinds of case that the eval runs, and the cases of each."""
