"""What a chain is: its state, its plan's shape, the limits, and what a decision asks for."""
