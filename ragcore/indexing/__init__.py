"""Keeps openRAG equal to the knowledge base folders.

The scope rule: a file is on openRAG when a knowledge base folder contains it, in the workspaces of all the
folders that do, and only then.
"""
