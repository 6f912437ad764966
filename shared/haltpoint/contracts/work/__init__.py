"""What a chain is asked to do: the task, its plan and bounds, and the thoughts about them."""
