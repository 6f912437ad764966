"""Customer support: a supervisor that finds out which order is meant before it decides which team
works on it.
"""
