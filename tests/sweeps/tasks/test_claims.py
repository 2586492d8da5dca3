"""``task=claims``: mistakes, plans, and the claim of ``docs/plugs/claim.md`` end to end."""

import json
from pathlib import Path

import pytest
import yaml

from sweeps.claims.claim import all_claims
from tests.helpers.commands import TINY, example, in_process, mistake, places, run, succeed

SMALL = [part for part in TINY if not part.startswith(("val_sentences", "scoring"))]
CHEAP = [*SMALL, "scoring.resamples=200", "logger=none"]


@pytest.mark.parametrize(
    ("given", "message"),
    [
        (["claims=bahdanau", "tier=laptop"], "claims=bahdanau: no such claim; give all, a paper"),
        (["claims=bahdanau2015"], "tier=null: give one of laptop, bench, paper"),
        (["claims=bahdanau2015", "tier=desk"], "tier=desk: no such choice; give one of bench,"),
        (["claims=bahdanau2015", "tier=laptop", "seed=3"], "seed=3: claims name their seeds"),
        (["claims=bahdanau2015", "tier=laptop", "seed_count=0"], "seed_count=0: give"),
        (["claims=cho2014", "tier=laptop", "data.train_sizes=3"], "data.train_size"),
        (["claims=newman2020", "tier=laptop"], "none of the claims can be run at tier=laptop"),
        (["claims=cho2014", "tier=laptop", "task=train"], "claims"),
        (["claims=cho2014", "tier=laptop", "learning_rates=none.yaml"], "learning_rates=none.yaml"),
        (["claims=cho2014", "tier=laptop", "tune=true", "learning_rates=/usr"], "give one of"),
        (["claims=cho2014", "tier=laptop", "tune=true", "seed_count=5"], "trials have one seed"),
        (["claims=cho2014", "tier=laptop", "tune=true", "optimizer.lr=0.1"], "own rates"),
        (["claims=null", "tier=laptop"], "claims=null: give all, a paper"),
    ],
)
def test_a_mistake_is_one_line(given, message, tmp_path):
    assert message in mistake(*given, f"outputs={tmp_path}")
    assert not list(tmp_path.rglob("result.json"))


def test_a_plan_trains_nothing(tmp_path, capsys):
    given = ["tier=laptop", "plan=true", "hydra/launcher=basic", f"outputs={tmp_path}"]
    assert in_process("claims=cho2014", *given) == 0
    printed = capsys.readouterr().out
    assert "missing: 3" in printed
    assert "cho2014.falls_with_length" in printed
    assert not list(tmp_path.rglob("result.json"))


def test_flags_of_hydra_may_follow_the_overrides(capsys):
    assert in_process("claims=cho2014", "tier=laptop", "--cfg", "job") == 0
    assert "claims: cho2014" in capsys.readouterr().out


def test_the_list_has_every_claim(capsys):
    assert in_process("claims=list") == 0
    printed = capsys.readouterr().out
    assert all(name in printed for name in all_claims())


@pytest.fixture(scope="module")
def tested(space) -> tuple[list[str], str]:
    """The command of the page, with small trainings, and what the command printed."""
    _, command = example("claim", space)
    [claim] = [part for part in command if part.startswith("claims=")]
    file = space / claim.partition("=")[2]
    given = [f"claims={file}", "tier=laptop", *CHEAP, *places(space)]
    return given, succeed(*given)


@pytest.fixture(scope="module")
def board(tested, space) -> Path:
    """The folder of the scoreboard of ``tested``, before any other command makes one."""
    [folder] = (space / "outputs" / "claims").iterdir()
    return folder


@pytest.mark.long
def test_the_claim_of_the_page_gets_a_verdict(tested, board, space):
    _, printed = tested
    assert "1 claims: " in printed
    assert board.name.startswith("laptop-")
    [row] = json.loads((board / "tables" / "claims.json").read_text())["rows"]
    assert row["claim"] == "mine.more_heads"
    assert row["seeds"] == 3
    assert row["published"] == pytest.approx(0.9)
    assert (board / "report.html").is_file()
    assert len(list(space.rglob("result.json"))) == 6


@pytest.mark.long
def test_the_same_command_trains_nothing_again(tested, space):
    given, before = tested
    times = {file: file.stat().st_mtime_ns for file in space.rglob("result.json")}
    printed = succeed(*given)
    assert "missing: 0" in printed
    assert {file: file.stat().st_mtime_ns for file in space.rglob("result.json")} == times
    assert printed.splitlines()[-2:] == before.splitlines()[-2:]  # the same verdict


@pytest.mark.long
def test_a_second_search_tests_the_same_training_again(tested, space):
    given, _ = tested
    file = Path(given[0].partition("=")[2])
    content = yaml.safe_load(file.read_text())
    del content["published"], content["tiers"]["paper"]
    greedy = content["systems"]["one"]
    content["systems"] = {"greedy": greedy, "beam": [*greedy, "decoding=beam"]}
    content["measure"] |= {"more": "beam", "less": "greedy"}
    file = file.with_name("search.yaml")
    file.write_text(yaml.safe_dump(content))
    printed = succeed(f"claims={file}", *given[1:], "comparison_name=search")
    assert "runs: 6, missing: 3" in printed
    [row] = json.loads((space / "outputs/claims/search/tables/claims.json").read_text())["rows"]
    assert row["verdict"] in ("held", "did not hold", "not decidable")
    made = [json.loads(each.read_text()) for each in space.rglob("outputs/runs/*/result.json")]
    beams = [one for one in made if one["config"]["decoding"].get("beam_size", 1) > 1]
    assert len(beams) == 3
    for beam in beams:
        [twin] = [one for one in made if one["training"] == beam["training"] and one is not beam]
        assert twin["seed"] == beam["seed"]
        assert twin["config"]["decoding"] != beam["config"]["decoding"]


@pytest.mark.exhaustive
@pytest.mark.long
def test_tuned_systems_get_a_verdict_beside_the_untuned(tested, board, space):
    given, _ = tested
    before = len(list(space.rglob("result.json")))
    printed = succeed(*given, "tune=true")
    assert "claims: 1, runs: 6, missing: 6" in printed
    rates = yaml.safe_load((board / "learning_rates.yaml").read_text())
    assert len(rates) == 2
    assert f"learning_rates={board}/learning_rates.yaml" in printed
    twice = dict.fromkeys(rates, 0.008)  # whatever was best: other than the files' rates
    (space / "rates.yaml").write_text(yaml.safe_dump(twice))
    printed = succeed(*given, f"learning_rates={space}/rates.yaml", "comparison_name=tuned")
    [row] = json.loads((board.parent / "tuned" / "tables" / "claims.json").read_text())["rows"]
    [untuned] = json.loads((board / "tables" / "claims.json").read_text())["rows"]
    assert row["untuned"] == untuned["verdict"]
    assert row["untuned_effect"] == untuned["ours"]
    assert len(list(space.rglob("result.json"))) == before + 6 + 6


@pytest.mark.long
def test_a_system_that_fails_ends_its_claim_alone(tested, space):
    given, _ = tested
    file = Path(given[0].partition("=")[2])
    content = yaml.safe_load(file.read_text())
    del content["systems"]["one"], content["published"]  # both would name another system
    content["systems"]["none"] = ["model=seq2seq", "optimizer.lr=1e38"]
    content["measure"] |= {"less": "none"}
    broken = file.with_name("broken.yaml")
    broken.write_text(yaml.safe_dump(content))
    done = run(f"claims=[{file},{broken}]", *given[1:])
    assert done.returncode == 1
    assert "2 claims: " in done.stdout
    assert "1 without a verdict" in done.stdout
    assert (done.stdout + done.stderr).count("seq2seq seed 1 failed") == 1  # by one worker, once
    assert "Traceback" not in done.stdout + done.stderr
