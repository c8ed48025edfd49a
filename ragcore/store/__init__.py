"""Documents of the instances: CouchDB's, through pycouchdb, with each write announced as an event."""

from ragcore.store.couch import Rejected
from ragcore.store.documents import (
    GLOBAL,
    Changes,
    Document,
    Owner,
    Store,
    UnknownSequence,
    database_name,
    doctype_of,
    prefix_of,
)

__all__ = [
    "GLOBAL",
    "Changes",
    "Document",
    "Owner",
    "Rejected",
    "Store",
    "UnknownSequence",
    "database_name",
    "doctype_of",
    "prefix_of",
]
