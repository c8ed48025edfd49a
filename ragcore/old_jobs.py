"""Jobs are kept for a week (`contracts/cozy.md`, Jobs and triggers)."""

import logging
from datetime import UTC, datetime

from ragcore import units
from ragcore.errors import RagcoreError
from ragcore.job_documents import JobDocuments
from ragcore.runtime import Runtime

log = logging.getLogger(__name__)

KEPT = 7 * 86400.0  # seconds
AT_ONCE = 5000  # jobs of an instance; the rest goes with the next call


def remove_old_jobs(runtime: Runtime, now: float) -> int:
    """Removes the jobs of all instances that were over a week ago: how many. Raises Retryable."""
    before = units.isoformat(datetime.fromtimestamp(now - KEPT, UTC))
    removed = 0
    for instance in runtime.instances.all():
        try:
            removed += JobDocuments(runtime.store, instance).remove_finished(before, AT_ONCE)
        except RagcoreError as error:
            log.warning("%s: old jobs are removed later: %s", instance.domain, error)
    return removed
