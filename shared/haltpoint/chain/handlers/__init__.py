"""One event each: write down what has happened, and say what is wanted next."""
