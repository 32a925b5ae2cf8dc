"""Accounts, sign-in, sessions, roles and invitations."""
