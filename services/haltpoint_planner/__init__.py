"""The planner thinks: the only service that talks to a model."""
