"""Questions and answers: what the seed says under "Assistant chat"."""
