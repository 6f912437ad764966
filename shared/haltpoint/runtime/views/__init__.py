"""What people read of chains and questions."""
