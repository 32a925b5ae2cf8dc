"""Handing out pairs and taking grades."""
