"""How it is done: the imperative shell around the pure core, written once for all services."""
