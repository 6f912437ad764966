"""The HTTP API: one small module per resource."""
