"""What is sent next: the scheduler, its gate, the turns of a model, and how things end."""
