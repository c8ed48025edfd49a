"""The embedded stack: Redis, the document database, the stand-in openRAG and the project's own processes."""
