"""Verdicts as values: plans, calls, the values in them, effects, and what the goal asks for."""
