"""What a model's reply says, one file per family of dialects."""
