"""The student's decode on a real trained model, in float32."""

from assignment.harness.models import check_decode
from assignment.harness.points import graded
from grader.base.words import tr

USED = (
    "test_decode_uses_the_cache",
    "test_decode_reads_the_cache",
    "test_grouped_decode_reads_the_cache",
)


@graded("5.1", 5, needs=USED)
def test_decode_of_a_real_model(student, real_model):
    """Teacher-forced decode steps on SmolLM2-135M agree with the float64 reference."""
    check_decode(student, real_model, tr("the logits of SmolLM2-135M"))
