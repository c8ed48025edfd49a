"""Triggers: which changes and which times launch a job (`contracts/cozy.md`, Jobs and triggers)."""
