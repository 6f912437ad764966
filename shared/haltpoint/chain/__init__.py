"""What is decided: pure functions over values. Nothing here waits, reads a clock, draws lots or
talks to Redis.
"""
