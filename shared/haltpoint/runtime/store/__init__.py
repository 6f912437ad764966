"""What is stored: rows, the functions that write them, chains, receipts and requests."""
