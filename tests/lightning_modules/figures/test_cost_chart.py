"""The front of quality against cost, against its definition; points and intervals of the chart."""

from hypothesis import given, settings
from hypothesis import strategies as st

from lightning_modules.figures.cost_chart import cost_chart, pareto_front
from lightning_modules.metrics.bootstrap import Estimate

examples = settings(deadline=None, derandomize=True, max_examples=50, database=None)
POINTS = st.lists(st.tuples(st.integers(0, 6), st.integers(0, 6)), max_size=8)


def dominates(one, other):
    return one != other and one[0] <= other[0] and one[1] >= other[1]


@examples
@given(POINTS)
def test_the_front_has_the_points_that_none_dominates(points):
    front = pareto_front(points)
    expected = [
        number
        for number, point in enumerate(points)
        if not any(dominates(other, point) for other in points)
    ]
    assert sorted(front) == expected
    assert [points[number][0] for number in front] == sorted(points[number][0] for number in front)


def test_the_chart_has_a_point_for_each_system_and_names_the_front():
    costs = {
        "cheap": (10.0, Estimate(30.0, 29.0, 31.0)),
        "dear": (20.0, Estimate(40.0, 39.0, 41.0)),
        "worse": (25.0, Estimate(35.0, None, None)),
    }
    labels = {label: label for label in costs}
    for width in ("container", 238.0):
        spec = cost_chart(costs, labels, "seconds", "BLEU", "A note.", width).to_dict()
        [rows] = [data for data in _values(spec) if len(data) == 3]
        assert [(row["system"], row["cost"], row["score"]) for row in rows] == [
            (label, cost, score.value) for label, (cost, score) in costs.items()
        ]
        [front] = [data for data in _values(spec) if len(data) == 2]
        assert front == [{"cost": 10.0, "score": 30.0}, {"cost": 20.0, "score": 40.0}]
        assert "On the front: cheap; dear." in spec["description"]
    assert spec["usermeta"]["caption"].endswith("A note.")  # of the file


def _values(spec):
    datasets = list(spec.get("datasets", {}).values())
    parts = [spec, *spec.get("layer", [])]
    return datasets + [part["data"]["values"] for part in parts if "values" in part.get("data", {})]
