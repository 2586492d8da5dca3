"""Tables of ``starts`` from a few points; what is written is read again."""

from tests.tools.benchmarks.starts import Point, read_points, table, write_points


def point(system, seed, budget, bleu, loss, begun=90_000, spread=0.25, aer=40.0):
    return Point(
        corpus="grammar",
        system=system,
        seed=seed,
        budget=budget,
        bleu=bleu,
        val_loss=loss,
        aer=aer,
        begun=begun,
        start_spread=spread and 1.0,
        spread=spread,
        commit="89ac01cd",
    )


POINTS = [
    point("global dot", 1, 200_000, 20.0, 1.0),
    point("global dot", 1, 400_000, 41.0, 0.8),
    point("global dot", 2, 200_000, 24.0, 1.2, begun=None),
    point("global dot", 2, 400_000, 39.0, 0.96, begun=None),
    point("global dot", 3, 200_000, 99.0, 1.2),  # whose training has not reached the last budget
    point("no attention", 1, 200_000, 5.0, 2.0, 150_000, None, None),
    point("no attention", 1, 400_000, 10.0, 1.5, 150_000, None, None),
    point("global cosine", 1, 200_000, 5.0, 2.0),
]


def test_a_table_has_means_deviations_and_shares_of_the_trainings_that_are_complete():
    heads, *rows = table(POINTS)
    assert heads[:4] == ["system", "seeds", "0.2 M", "0.4 M"]
    assert [[cell.replace("\N{NO-BREAK SPACE}", " ") for cell in row] for row in rows] == [
        ["no attention", "1", "5.0 (50%)", "10.0 (100%)", "25%", "150 k", "–", "–"],
        ["global dot", "2", "22.0 ± 2.8 (55%)", "40.0 ± 1.4 (100%)", "20%", "90 k, 1 never",
         "1.00 → 0.25", "40%"],
    ]  # fmt: skip


def test_a_corpus_without_gold_links_has_no_column_of_alignment_errors():
    heads, *_ = table([each.model_copy(update={"aer": None}) for each in POINTS])
    assert heads[-1] == "spread"


def test_what_is_written_is_read_again(tmp_path):
    write_points(tmp_path / "starts.csv", POINTS)
    assert read_points(tmp_path / "starts.csv") == POINTS
    assert read_points(tmp_path / "none.csv") == []
