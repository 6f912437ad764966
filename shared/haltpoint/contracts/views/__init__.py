"""Views: what readers of chains, questions and deployments get to see. Nothing here is ever written
back.
"""
