"""``task=claims``: mistakes, plans, ladders, and ``docs/how_to/extend/claim.md`` end to end."""

import json
from pathlib import Path

import pytest
import yaml

from sweeps.claims.claim import all_claims
from tests.helpers.commands import TINY, example, in_process, mistake, places, run, succeed
from tests.helpers.run_folders import result_of

SMALL = [part for part in TINY if not part.startswith(("val_sentences", "scoring", "budget"))]
CHEAP = [*SMALL, "scoring.resamples=200", "logger=none"]
FIRST, LAST = 1250, 2500  # the rungs of a ladder
LADDER = [f"rungs=[{FIRST},{LAST}]", "seed_count=3"]
LAPTOP = ["claims=cho2014", "tier=laptop"]


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
        ([*LAPTOP, "rungs=[400,200]"], "rungs=[400, 200]: give amounts of target tokens that rise"),
        ([*LAPTOP, "rungs=[]"], "rungs=[]: give amounts of target tokens that rise"),
        ([*LAPTOP, "rungs=[0.5]"], "rungs=[0.5]: 0.5 is no number of target tokens; give a whole"),
        ([*LAPTOP, "budget.target_tokens=5"], "claims are judged at rungs; give rungs=[…] instead"),
        ([*LAPTOP, "corpora=en-nl"], "corpora=en-nl: no corpus of tier=laptop; give all, draws"),
        ([*LAPTOP, "corpora=[]"], "corpora=[]: give all, draws for all random ones, or names of"),
        (
            ["claims=tang2018.distant_agreement", "tier=laptop", "corpora=en-fr"],
            "is not for corpora=en-fr: its file names other corpora or languages",
        ),
        ([*LAPTOP, "data.target=de"], "leave data.target=de out"),
        ([*LAPTOP, "first_seed=11"], "first_seed=11: give seed_count=N too"),
        ([*LAPTOP, "roots.canlaw=/nowhere"], "roots.canlaw=/nowhere"),
        ([*LAPTOP, "registration=conf/config.yaml"], "config.yaml: no registration; give a file"),
        ([*LAPTOP, "tune=true", "register=true"], "tune=true and register: give one of them"),
        (["claims=luong2015.attention", "tier=bench"], "corpora.yaml does not know of multi30k"),
    ],
)
def test_a_mistake_is_one_line(given, message, tmp_path):
    assert message in mistake(*given, f"outputs={tmp_path}")
    assert not list(tmp_path.rglob("result.json"))


def test_a_plan_trains_nothing(tmp_path, capsys):
    given = ["tier=laptop", "plan=true", "hydra/launcher=basic", f"outputs={tmp_path}"]
    assert in_process("claims=cho2014", *given) == 0
    printed = capsys.readouterr().out
    assert "missing: 20 (5 training runs)" in printed  # four rungs of five seeds
    assert "cho2014.falls_with_length" in printed
    assert not list(tmp_path.rglob("result.json"))


def test_a_plan_on_files_reads_no_other_folder(tmp_path, capsys, monkeypatch):
    monkeypatch.chdir(tmp_path)
    given = ["tier=bench", "plan=true", "hydra/launcher=basic", f"roots.multi30k={tmp_path}"]
    assert in_process("claims=bahdanau2015.figure2_gap", *given) == 0
    assert "missing: 18 (6 training runs)" in " ".join(capsys.readouterr().out.split())


def test_a_registration_trains_nothing_and_is_read_again(tmp_path, capsys):
    given = [*LAPTOP, "hydra/launcher=basic", f"outputs={tmp_path}"]
    assert in_process(*given, "register=true") == 0
    [file] = tmp_path.rglob("registration.json")
    written = json.loads(file.read_text())
    assert written["sha256"] in capsys.readouterr().out
    assert not list(tmp_path.rglob("result.json"))
    assert in_process(*given, f"registration={file}", "plan=true") == 0
    written["content"]["claims"].popitem()
    file.write_text(json.dumps(written))
    assert "was changed after it was registered" in mistake(*given, f"registration={file}")


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
    given = [f"claims={file}", "tier=laptop", *CHEAP, *LADDER, *places(space)]
    return given, succeed(*given)


@pytest.fixture(scope="module")
def board(tested, space) -> Path:
    """The folder of the scoreboard of ``tested``, before any other command makes one."""
    [folder] = (space / "outputs" / "claims").iterdir()
    return folder


def made(space: Path) -> dict[tuple[str, int, float], Path]:
    """Return the run folders by model, seed and budget."""
    found = {}
    for file in (space / "outputs" / "runs").glob("*/result.json"):
        result = result_of(file.parent)
        heads = result.config["model"]["heads"]
        key = (heads, result.seed, result.config["budget"]["target_tokens"])
        found[key] = file.parent
    return found


@pytest.mark.long
def test_the_claim_of_the_page_gets_a_verdict(tested, board, space):
    _, printed = tested
    assert "missing: 12 (6 training runs)" in printed
    assert board.name.startswith("laptop-")
    [row] = json.loads((board / "tables" / "claims.json").read_text())["rows"]
    assert row["claim"] == "mine.more_heads"
    assert row["seeds"] == 3
    assert (board / "report.html").is_file()


@pytest.mark.long
def test_a_ladder_is_one_training_for_each_system_and_seed(tested, space):
    runs = made(space)
    assert len(runs) == 12
    systems = {key[:2] for key in runs}
    assert {amount for *_, amount in runs} == {FIRST, LAST}
    for system in systems:
        first, last = runs[*system, FIRST], runs[*system, LAST]
        assert result_of(first).config["continue"] is None
        assert result_of(last).config["continue"] == str(first)
        assert result_of(last).config["data"]["seed"] == system[1]  # a seed draws the corpus too
        assert (last / "checkpoints/last.ckpt").is_file()  # for a longer ladder
        assert not (first / "checkpoints").exists()


@pytest.mark.long
def test_the_same_command_trains_nothing_again(tested, space):
    given, before = tested
    times = {file: file.stat().st_mtime_ns for file in space.rglob("result.json")}
    printed = succeed(*given)
    assert "missing: 0 (0 training runs)" in printed
    assert {file: file.stat().st_mtime_ns for file in space.rglob("result.json")} == times
    assert printed.splitlines()[-2:] == before.splitlines()[-2:]  # the same verdict


@pytest.mark.long
def test_a_longer_ladder_continues_the_training(tested, space):
    given, _ = tested
    longer = [f"rungs=[{FIRST},{LAST},{2 * LAST}]", "seed_count=1", "comparison_name=longer"]
    printed = succeed(*(each for each in given if each not in LADDER), *longer)
    assert "missing: 2 (2 training runs)" in printed
    runs = made(space)
    longest = {key: folder for key, folder in runs.items() if key[-1] == 2 * LAST}
    assert len(longest) == 2
    for (heads, seed, _), folder in longest.items():
        assert result_of(folder).config["continue"] == str(runs[heads, seed, LAST])


@pytest.mark.long
def test_verdicts_name_a_registration_and_what_deviates(tested, board, space):
    given, _ = tested
    succeed(*given, "register=true")
    file = board / "registration.json"
    printed = succeed(*given, f"registration={file}")
    assert f"SHA-256 {json.loads(file.read_text())['sha256']}, when 12 of its runs" in printed
    assert "nothing deviates" in printed
    printed = succeed(*given, f"registration={file}", "seed_count=2", "comparison_name=fewer")
    assert "trained seeds: [1, 2], registered [1, 2, 3]" in printed


@pytest.mark.long
def test_a_second_search_tests_the_same_training_again(tested, space):
    given, _ = tested
    file = Path(given[0].partition("=")[2])
    content = yaml.safe_load(file.read_text())
    content.pop("published", None)
    content["tiers"].pop("paper", None)
    greedy = content["systems"]["one"]
    content["systems"] = {"greedy": greedy, "beam": [*greedy, "decoding=beam"]}
    content["measure"] |= {"more": "beam", "less": "greedy"}
    content["tiers"]["laptop"]["seeds"] = [7]
    file = file.with_name("search.yaml")
    file.write_text(yaml.safe_dump(content))
    kept = [each for each in given[1:] if not each.startswith("seed_count")]
    printed = succeed(f"claims={file}", *kept, "comparison_name=search")
    assert "runs: 4, missing: 4 (1 training run)" in " ".join(printed.split())
    every = [result_of(each.parent) for each in space.rglob("outputs/runs/*/result.json")]
    made_now = [one for one in every if one.seed == 7]
    beams = [one for one in made_now if one.config["decoding"].get("beam_size", 1) > 1]
    assert len(beams) == 2
    for beam in beams:
        [twin] = [one for one in made_now if one.training == beam.training and one is not beam]
        assert twin.config["decoding"] != beam.config["decoding"]


@pytest.mark.exhaustive
@pytest.mark.long
def test_tuned_systems_get_a_verdict(tested, board, space):
    given, _ = tested
    before = len(list(space.rglob("result.json")))
    printed = succeed(*(each for each in given if not each.startswith("seed_count")), "tune=true")
    planned = "claims: 1, corpora: 1, rungs: 2, seeds: 1, runs: 6, missing: 6 (6 training runs)"
    assert planned in " ".join(printed.split())
    [file] = space.rglob("learning_rates.yaml")
    rates = yaml.safe_load(file.read_text())
    assert len(rates) == 2
    twice = dict.fromkeys(rates, 0.008)  # whatever was best: other than the files' rates
    (space / "rates.yaml").write_text(yaml.safe_dump(twice))
    succeed(*given, f"learning_rates={space}/rates.yaml", "comparison_name=tuned")
    assert (board.parent / "tuned" / "tables" / "claims.json").is_file()
    assert len(list(space.rglob("result.json"))) == before + 6 + 12


@pytest.mark.long
def test_a_system_that_fails_ends_its_claim_alone(tested, space):
    given, _ = tested
    file = Path(given[0].partition("=")[2])
    content = yaml.safe_load(file.read_text())
    del content["systems"]["one"]
    content.pop("published", None)  # which would name another system
    content["systems"]["none"] = ["model=seq2seq", "optimizer.lr=1e38"]
    content["measure"] |= {"less": "none"}
    broken = file.with_name("broken.yaml")
    broken.write_text(yaml.safe_dump(content))
    done = run(f"claims=[{file},{broken}]", *given[1:])
    assert done.returncode == 1
    assert "2 claims: " in done.stdout
    assert "1 no verdict" in done.stdout
    assert (done.stdout + done.stderr).count("seq2seq seed 1 failed") == 1  # by one worker, once
    assert "Traceback" not in done.stdout + done.stderr
