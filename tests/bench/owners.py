"""Which process of a stack is at the other end of a connection."""

import psutil

from deploy.local.stack import Stack

OTHER = "other"


def owners(stack: Stack) -> dict[int, str]:
    """The name of the process by the local port of each connection that the stack's processes hold open."""
    found: dict[int, str] = {}
    for name, process in stack.processes.items():
        leader = psutil.Process(process.pid)
        for member in [leader, *leader.children(recursive=True)]:
            found |= {connection.laddr.port: name for connection in member.net_connections("tcp")}
    return found
