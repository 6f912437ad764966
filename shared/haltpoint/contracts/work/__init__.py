"""What a chain is asked to do: the task, its plan and intent, and the thoughts about them."""
