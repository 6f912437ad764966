"""What people are asked and what they answer: requests, approvals, and the rules of approval."""
