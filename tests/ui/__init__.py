"""The pages in a real browser, over real processes: `make ui`."""
