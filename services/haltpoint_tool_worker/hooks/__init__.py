"""Hooks in the worker (CONTRACT H): where they come from, how one is run, and what their verdicts
do to a call.
"""
