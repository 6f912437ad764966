"""Task delegation: a supervisor that finds out how urgent a task is before it decides which worker
takes it.
"""
