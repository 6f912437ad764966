"""Haltpoint: tool calls of language-model agents as typed events that hold the model to its word."""
