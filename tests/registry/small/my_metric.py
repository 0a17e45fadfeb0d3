"""A metric in one file."""

from zoo import part
from zoo.tasks.base import Metric, MetricDescription


@part("metric", "worst_class")
def worst_class():
    """The lowest recall of any class."""

    def compute(outputs):
        labels, right = outputs["labels"], outputs["predicted"] == outputs["labels"]
        return min(float(right[labels == label].mean()) for label in set(labels.tolist()))

    return Metric(MetricDescription(name="worst_class", label="worst class"), compute)
