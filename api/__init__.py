"""The Flask app: it validates, saves and enqueues; it decides nothing and talks to no openRAG."""
