"""The client of openRAG: what `contracts/openrag.md` says of it stands here, and nowhere else."""

from ragcore.openrag.client import OpenRag, Upload
from ragcore.openrag.completions import Chunk
from ragcore.openrag.errors import Duplicate, Exists, Swapping, TooLarge

__all__ = ["Chunk", "Duplicate", "Exists", "OpenRag", "Swapping", "TooLarge", "Upload"]
