"""What a tool returned or raised, as a result of the contract."""
