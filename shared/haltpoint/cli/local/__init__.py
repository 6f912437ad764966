"""A whole system on this machine: server and services as child processes."""
