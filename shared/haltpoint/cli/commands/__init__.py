"""The verbs: what can be typed, and what it does."""
