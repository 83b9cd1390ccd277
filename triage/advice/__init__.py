"""What follows from a diagnosis: the restart plan, the four sorting questions, the metrics that were missing."""

from triage.advice.missing import missing_metrics
from triage.advice.questions import questions
from triage.advice.restart import Checkpoint, plan

__all__ = ["Checkpoint", "missing_metrics", "plan", "questions"]
