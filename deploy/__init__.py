"""Where the parts are put together: the command, the embedded stack, the stand-in openRAG."""
