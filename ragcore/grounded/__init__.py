"""Answers from passages alone, each of them cited: what the seed beginning with `004` says under "RAG Q&A".

It stands beside the chat, whose questions, events and saves it uses; the chat knows nothing of it.
"""

ASK = "ask"  # the surface of POST /api/rag/ask
