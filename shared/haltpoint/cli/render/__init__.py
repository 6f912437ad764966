"""What a person sees of chains and questions, and is asked."""
