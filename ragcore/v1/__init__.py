"""Grounded answers for the clients of OpenAI's API: the issue's section, and the seed beginning with `004`.

It stands on `ragcore.grounded`: the messages that a client gives become a conversation, whose last question is asked.
"""

V1 = "v1"  # the surface of POST /v1/chat/completions
