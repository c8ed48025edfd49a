"""A stand-in for openRAG: a small real server for the laptop and for the tests.

It keeps the routes of openRAG that the workers use, with real uploads, text extraction, ranked retrieval and
streamed completions. `/_sandbox/` holds what only tests need: scripted LLM streams, faults, the calls that
were made, the settings.
"""
