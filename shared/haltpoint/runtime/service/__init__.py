"""The life of a service: process, server, checks before the start, HTTP."""
