"""What a model's reply says: the completion as its server sent it, the JSON in its words, and what
both mean.
"""
