"""A trigger that is fired pushes the job of its message."""

from ragcore.instances import Instance
from ragcore.job_documents import job_of, require_worker
from ragcore.jobs import Cause
from ragcore.triggers.documents import Trigger
from ragcore.work import Work


def launch(work: Work, instance: Instance, trigger: Trigger, manual: bool = False) -> str:
    """The id of the job, which carries the trigger's; one that waits already serves.

    Raises Retryable when it could not be enqueued; Invalid, NotFound or Forbidden for a trigger of another writer
    whose message or worker is not one of ours.
    """
    require_worker(trigger.worker)
    return work.launch(job_of(instance.domain, trigger.message), Cause(trigger.id, manual))
