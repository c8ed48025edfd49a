"""The workspace agent: an LLM that calls our tools before it answers (the seed beginning with `004`, Workspace Agent).

It answers in the way of `grounded`: from passages, memories and the results of its tools alone.
"""

AGENT = "agent"  # the surface of POST /api/agent/chat
