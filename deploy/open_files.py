"""A process that holds thousands of connections may open as many files as the system lets it."""

import resource


def raise_limit() -> None:
    _, most = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (most, most))
