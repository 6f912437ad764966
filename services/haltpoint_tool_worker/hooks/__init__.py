"""Hooks in the worker (CONTRACT H): where they come from, and those that every tool has."""
