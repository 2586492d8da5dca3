"""Errors of the process itself: out of memory, a narrow terminal, Ctrl-C during imports."""

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
import torch

from lightning_modules.kernels.choice import PLAIN, use_kernels
from sweeps.launch.errors import as_user_error
from tests.helpers.commands import ROOT, TINY, inside, mistake, places
from tests.helpers.variants import CONF

RUN = [sys.executable, "run.py"]


@pytest.mark.parametrize("error", [MemoryError(), torch.cuda.OutOfMemoryError("CUDA")])
def test_a_machine_without_memory_is_a_mistake_of_the_user(error):
    line = str(as_user_error(error))
    assert line.startswith("out of memory: give a smaller model (scale=0.5)")


def test_too_little_memory_for_cuda_graphs_names_their_setting():
    use_kernels(PLAIN._replace(capture=True))
    try:
        line = str(as_user_error(torch.cuda.OutOfMemoryError("CUDA")))
    finally:
        use_kernels(PLAIN)
    assert "smaller batches (batching.max_tokens=, batching.decode_max_tokens=), updates" in line
    assert "capture=false" in line


def test_the_memory_that_a_cpu_refuses_is_told():
    with pytest.raises(RuntimeError) as refused:
        torch.empty(1 << 50)
    assert str(as_user_error(refused.value)).startswith("out of memory (4,194,304.0 GiB): give")


def test_errors_that_are_contexts_of_each_other_are_looked_through_once():
    one, other = ValueError("one"), ValueError("other")
    one.__context__, other.__context__ = other, one
    assert as_user_error(one) is None


def test_gpus_that_are_not_there_are_refused(tmp_path, monkeypatch):
    monkeypatch.setattr(torch.cuda, "device_count", lambda: 0)
    line = mistake(*TINY, *places(tmp_path), "devices.gpus_per_job=3", "logger=none")
    assert "devices.gpus_per_job=3" in line


@pytest.mark.long
def test_a_terminal_of_ascii_shows_the_table(tmp_path):
    surroundings = os.environ | {"LANG": "C", "LC_ALL": "C", "PYTHONUTF8": "0"}
    surroundings["PYTHONCOERCECLOCALE"] = "0"
    command = [*RUN, "task=settings", "find=optimizer"]
    done = subprocess.run(command, cwd=ROOT, env=surroundings, capture_output=True)
    assert done.returncode == 0, done.stderr
    assert b"optimizer.lr" in done.stdout


@pytest.mark.parametrize("seconds", [0.0, 0.2, 0.8])
def test_ctrl_c_in_the_first_second_prints_no_traceback(tmp_path, seconds):
    command = [*RUN, *TINY, *places(tmp_path), "logger=none"]
    process = subprocess.Popen(
        command, cwd=ROOT, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),  # as in a terminal
    )  # fmt: skip
    imports = Path(f"/proc/{process.pid}/maps")
    while "yaml" not in imports.read_text() and process.poll() is None:
        time.sleep(0.005)  # Python itself still starts
    time.sleep(seconds)
    process.send_signal(signal.SIGINT)
    _, errors = process.communicate(timeout=60)
    assert process.returncode in (130, -signal.SIGINT)
    assert b"Traceback" not in errors


WIDTHS = ("embedding_size", "hidden_size", "encoder.hidden_size", "readout.size")


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        (["model=bahdanua"], "model=bahdanua: no such choice; did you mean model=bahdanau?"),
        (["task=report", "runs=/usr"], "runs=/usr: holds no runs"),
        (["model=transformers"], "did you mean model=transformer or"),
        (["hydra/launcher=slurm"], "did you mean hydra/launcher=submitit_slurm?"),
        (["logger=comet"], "logger=comet: no such choice; give one of csv, lightning, none, "),
        (["optimizers=adam"], "optimizers: no such setting; did you mean optimizer?"),
        (["model/encoder=x"], "model/encoder: no such group of settings, which --help lists"),
        (["model=[bahdanau,seq2seq]"], "give one file; -m model=bahdanau,seq2seq runs a job for"),
        (["+model=transformer"], "+model: there is one; leave out the +"),
        (["++model=transformer"], "++model=transformer: leave out the ++"),
        (["+optimizer=adam"], "+optimizer: there is one; leave out the +"),
        (["+seed=2"], "+seed: there is one; leave out the +"),
        (["seed=1,2"], "seed=1,2: for a job with each value, give -m; for one list, seed=[1,2]"),
        (["seed=range(1,3)"], "seed=range(1,3): for a job with each value, give -m"),
        (["scoring.edges=[10,"], "a list is written 'scoring.edges=[VALUE,VALUE]', in quotes if"),
        (["about={a=b}"], "about={a=b}: a mapping is written 'about={NAME: VALUE}', in quotes"),
        (["data.root=~/text"], "the shell does not read ~ here; write data.root="),
        (["model", "=", "x"], "model: not an override; write KEY=VALUE, without spaces around ="),
        (["~nonsense"], "nonsense: no such setting; task=settings lists all settings"),
        (["~model=transformer"], "~model: a setting cannot be removed; give model=NAME, one of"),
        (["seed=${nope}"], "seed=${nope}: Interpolation key 'nope' not found; give a value"),
        (["label=${label}"], "label=${label}: Recursive interpolation detected"),
        (["hydra.run.dir=${nope}"], "hydra.run.dir: Interpolation key 'nope' not found"),
        (["about.papers=[a,${oc.env:NOPE}]"], "about.papers[1]=${oc.env:NOPE}: KeyError"),
        (["model.hidden_size=many"], "model.hidden_size=many: give a whole number, at least 1"),
        (["model=transformer", "model.heads=5"], "model.heads=5: must divide model.width"),
        (["model=luong_global", "model.attention.score=x.Y"], "model.attention.score=x.Y"),
        (["model=luong_predictive", "model.attention.half_width=0"], "local_p needs at least 1"),
        (["model=luong_predictive", "model.attention.score=location"], "has no local form"),
        (["model=luong_location", "model.attention.max_length=9"], "max_length=9: the longest"),
        (["model.attention.score=dot"], "one width, not 34 and 68"),
        (["+model.attention.heads=3"], "model.attention.heads=3: must divide"),
        (["model.query.language=true"], "do not begin with a tag of the target language"),
        (["model.placement.decoder=cuda:63"], "model.placement.decoder=cuda:63: no device"),
        (["model.tied=all"], "model.tied=all: needs one vocabulary; set tokenizer.shared=true"),
        (["model.placement.encoder=meta"], "model.placement.encoder=meta: holds no numbers"),
        (["model=seq2seq", "model.query.state=previous"], "set model.query.state=current"),
        (
            ["model.attention.score=lightning_modules.attention.scores.Score"],
            "scores.Score: Score lacks forward",
        ),
        (["teacher_forcing=null"], "teacher_forcing=null: give one of always, never, scheduled"),
        (["vectors.source=/nowhere"], "vectors.source=/nowhere: does not exist; correct"),
        (["decoding.n_best=9"], "decoding.n_best=9: must be at most beam_size=4"),
        (["+budget.updates=5"], "give an amount of one kind; budget=KIND chooses it"),
        (["match=parameters", "scale=2"], "scale=2: match=parameters chooses it; leave one"),
        (
            ["match=parameters", "match.variant=bahdanua", "scale=1"],
            "match.variant=bahdanua: no file of",
        ),
        (
            ["match=parameters", "scale=1", *(f"model.{width}=8" for width in WIDTHS)],
            "match=parameters: no widths come nearer than",
        ),
        (["batching.max_tokens=5"], "batching.max_tokens=5"),
        (["scoring.edges=[20,10]"], "length edges must be ascending"),
        (["batching.decode_max_tokens=8"], "batching.decode_max_tokens=8 is smaller than the long"),
        (["batching.pieces=1000"], "batching.pieces=1000: the largest batch has "),
        (["outputs=it's"], "outputs=it's: Hydra cannot read this value; write a value with quotes"),
        (["nonsense"], "nonsense: not an override; write KEY=VALUE"),
        (["model=seq2seq", "+model.attention.heads=2"], "this variant has no attention"),
        (["+trainer.accumulate_grad_batches=4"], "=4: set batching.pieces=4 instead, which"),
        (
            ["batching.pieces=2", "trainer.val_check_interval=00:01:00:00"],
            "trainer.val_check_interval: with several pieces, give a number of updates",
        ),
        (["outputs=/dev/null/x", "hydra.run.dir=/dev/null/x"], "/dev/null/x"),
        (["data=text", "data.source=en", "data.target=de"], "give data.root=..."),
        (["data=text", "data.root=/nowhere", "data.source=en", "data.target=de"], "/nowhere"),
        (["task=translate", "checkpoint=/nowhere"], "checkpoint=/nowhere"),
        (["task=compare", "runs=[/nowhere]"], "/nowhere"),
        (["task=compare", "runs=[]"], "nothing to compare"),
        (["task=compare", "systems.a=/usr"], "systems.a: no such setting; choose task=evaluate"),
        (["task=compare"], "runs has no value: give runs=..."),
        (["task=report", "runs=/nowhere"], "runs=/nowhere: does not exist; correct the path"),
        (["task=report", "runs=[/,/usr]"], "give one folder; task=compare takes several"),
        (["task=evaluate"], "nothing to evaluate: name systems"),
        (["task=align"], "checkpoint has no value: give checkpoint=..."),
    ],
)
def test_mistakes_are_told_in_a_line(arguments, expected, tmp_path, space):
    where = [] if arguments[0] == "task=translate" else [f"hydra.run.dir={tmp_path}"]
    tiny = [] if any(argument.startswith("task=") for argument in arguments) else TINY
    if any(argument.startswith("data=") for argument in arguments):
        tiny = tiny[3:]
    untracked = [] if arguments[0] in ("task=translate", "task=align") else ["logger=none"]
    line = mistake(*tiny, *places(space), *untracked, *where, *arguments)
    assert expected in line
    assert not (tmp_path / "checkpoints" / "last.ckpt").exists()


MODEL = "defaults: [bahdanau, _self_]\nmodel: {hidden_size: 20}\nlabel: mine\n"
RECIPE = "defaults: [override /optimizer: sgd]\n"


@pytest.mark.parametrize(
    ("group", "content", "why"),
    [
        ("model", MODEL, "model.model.hidden_size: no such setting; a file in model/ that sets "),
        ("recipe", RECIPE, "recipe=mine: its file must begin with # @package _global_"),
    ],
)
def test_a_file_without_its_package_is_told_in_a_line(group, content, why, tmp_path):
    file = tmp_path / "conf" / group / "mine.yaml"
    file.parent.mkdir(parents=True)
    given = ["--config-dir", str(tmp_path / "conf"), f"{group}=mine", *TINY, *places(tmp_path)]
    file.write_text(content)
    line = mistake(*given)
    assert line.startswith(f"error: {why}")
    assert "must begin with # @package _global_" in line
    file.write_text(f"# @package _global_\n{content}modle: 1\n")
    assert "error: modle: no such setting" in mistake(*given)


def test_a_key_of_the_command_is_no_matter_of_a_file():
    assert "model.label: no such setting; did you mean" in mistake("+model.label=x", *TINY)


GROUPS = sorted({folder.name for folder in CONF.iterdir() if folder.is_dir()} - {"hydra", "claim"})


@pytest.mark.parametrize("group", GROUPS)
def test_a_group_cannot_be_removed(group, space):
    line = mistake(f"~{group}", *places(space))
    assert line.startswith(f"error: ~{group}: a setting cannot be removed; give {group}=")
    assert not (space / "outputs").exists()


@pytest.mark.parametrize(
    ("flags", "expected"),
    [
        (["-m", "seed=1,2", "--cfg", "job"], "give one of -m, --cfg, --info and --shell-completio"),
        (
            ["-m", "hydra/launcher=submitit_slurm", "--cfg", "job"],
            "give one of -m, --cfg, --info and",
        ),
        (["report.figure_widths=[0]"], "report.figure_widths has settings of its own, which task="),
        (["-m", "seed=1,2", "--info"], "--cfg job shows a single job, so give a single value for"),
        (["--resolve"], "The --resolve flag can only be used in conjunction with --cfg"),
        (["--cfg", "nothing"], "invalid choice: 'nothing'"),
        (["--cfg", "job", "--resolve", "label=${label}"], "label=${label}: Recursive"),
        (["--cfg", "job", "model=bahdanua"], "did you mean model=bahdanau?"),
        (["--config-name", "nothing"], "Cannot find primary config 'nothing'"),
        (["--config-dir", "/nowhere"], "Additional config directory '/nowhere' not found"),
        (["--shell-completion"], "Expecting one subcommand from"),
        (["--shell-completion", "install=nothing"], "No completion plugin for 'nothing' found"),
    ],
)
def test_flags_of_hydra_end_in_a_line(flags, expected):
    assert expected in mistake(*flags)


def test_a_defect_keeps_its_traceback(monkeypatch):
    """Only errors before anything of the harness is called are of the command line."""

    def defect(*_):
        raise ValueError("a defect")

    monkeypatch.setattr("sweeps.launch.job.check_settings", defect)
    with pytest.raises(ValueError, match="a defect"):
        inside("task=settings")


MISSING = [
    ["task=evaluate", "references=/nowhere", "systems.a=/usr"],
    ["task=compare", "runs=/nowhere"],
    ["task=reproduce", "run=/nowhere"],
    ["task=translate", "checkpoint=/nowhere"],
    ["data=text", "data.root=/nowhere", "data.source=en", "data.target=de"],
    ["vectors.source=/nowhere"],
]


@pytest.mark.parametrize("arguments", MISSING, ids=str)
def test_what_is_missing_is_refused_before_anything_heavy_is_imported(arguments, tmp_path):
    program = (
        "import sys, run; from sweeps.launch.errors import run_main\n"
        "try: run_main(run.program)\n"
        "finally: print(*{'torch', 'numpy', 'scipy', 'sacrebleu'} & sys.modules.keys())"
    )
    command = [sys.executable, "-c", program, *arguments, *places(tmp_path)[:1], "logger=none"]
    if arguments[0] in ("task=translate", "task=reproduce"):
        command.remove("logger=none")
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True)
    assert done.returncode == 2
    assert "/nowhere" in done.stderr
    assert done.stdout == "\n"
    assert not (tmp_path / "outputs").exists()


def test_an_option_that_is_none_is_told_in_a_line_without_passwords():
    line = mistake("--nonsense", "sweep.storage=postgresql://me:secret@host/x")
    assert line.startswith("error: unrecognized arguments: --nonsense")
    assert "secret" not in line


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        (
            ["budget=seconds", "scheduler=linear"],
            "budget=seconds: does not fix the number of updates, and scheduler",
        ),
        (["budget=updates", "budget.target_tokens=5"], "budget.target_tokens"),
        (
            ["budget=null"],
            "budget=null: give one of bench, family, flops, ladder, laptop, length, own",
        ),
    ],
)
def test_budgets_of_other_kinds(arguments, expected, tmp_path, space):
    tiny = [given for given in TINY if not given.startswith("budget.")]
    where = [f"hydra.run.dir={tmp_path}", "logger=none"]
    assert expected in mistake(*tiny, *places(space), *where, *arguments)


def test_a_log_that_cannot_be_opened_is_named(tmp_path):
    (tmp_path / "run.log").mkdir()
    line = mistake("model=seq2seq", f"hydra.run.dir={tmp_path}", "hydra.job.name=run")
    assert f"{tmp_path}/run.log: Is a directory; make room or write elsewhere" in line
