"""The example registry: three workflows, run by `rivet dev examples/registry.py`."""

from counter import workflow_counter
from invoice import invoice
from worker import worker

from rivetpy import setup

registry = setup(use={"workflowCounter": workflow_counter, "invoice": invoice, "worker": worker})
