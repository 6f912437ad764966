"""How a tool runs: its job, its slot, its thread, its time."""
