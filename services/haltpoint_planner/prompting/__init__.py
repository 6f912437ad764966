"""What a model is asked, and what it is shown."""
