"""Fixtures of several test files: a browser with a report, files to evaluate.

Fixtures import what is slow to import: the process that only starts the workers needs none of it.
"""

import os
import shutil
from collections import defaultdict
from pathlib import Path

import pytest

if not Path("/dev/nvidiactl").exists():  # no GPU: read when Triton is first imported
    os.environ["TRITON_INTERPRET"] = "1"

CHROMIUM = shutil.which("chromium") or shutil.which("google-chrome")
DRIVER = shutil.which("chromedriver")
SLOW_FIRST = ["sweeps", "variants", "lightning_modules", "datamodules"]
"""Folders of the tests, in the order in which all workers end together."""


MOST_SETS, MOST_LONG_SETS = 4, 2
"""Parameter sets of a quick and of a long test that are run, evenly spaced; the others are
``exhaustive``."""


def pytest_xdist_auto_num_workers(config):
    """Start more workers than there are processors: many tests wait for other processes.

    Long tests wait most: commands, browsers, ranks.
    """
    return (os.cpu_count() or 1) + (2 if config.option.markexpr.startswith("long") else 1)


@pytest.hookimpl(tryfirst=True)  # before tests are chosen by their marks
def pytest_collection_modifyitems(items):
    items.sort(key=lambda item: [folder not in item.path.parts for folder in SLOW_FIRST])
    sets = defaultdict(list)
    for item in items:
        function = item.nodeid.partition("[")[0]
        sets[function, item.get_closest_marker("long") is not None].append(item)
    for (_, is_long), of_function in sets.items():
        kept = evenly_spaced(len(of_function), MOST_LONG_SETS if is_long else MOST_SETS)
        for number, item in enumerate(of_function):
            if number not in kept:
                item.add_marker("exhaustive")


def evenly_spaced(count, most):
    """Return at most so many of the numbers below ``count``, the first and the last among them."""
    if count <= most:
        return set(range(count))
    return {round(place * (count - 1) / (most - 1)) for place in range(most)}


@pytest.fixture(scope="session", autouse=True)
def each_process_does_it_once():
    from lightning_modules.kernels.precision import use_matmul_precision
    from sweeps.launch.resolvers import register
    from tests.helpers.remembered import conf_read_once, flops_counted_once

    register()
    use_matmul_precision("highest")  # as in every command: on a GPU, RNNs would compute in TF32
    with flops_counted_once(), conf_read_once():
        yield


@pytest.fixture(autouse=True)
def hydra_forgets():
    """Let no test see the configuration of a command that another test ran in this process."""
    from hydra.core.hydra_config import HydraConfig

    yield
    HydraConfig.instance().cfg = None


@pytest.fixture(
    params=["interpreter", pytest.param("cuda", marks=[pytest.mark.gpu, pytest.mark.long])]
)
def rows(request, monkeypatch):
    """Compute by Triton's kernels of rows; return the device of the tensors."""
    import torch

    from lightning_modules.kernels import choice

    triton = pytest.importorskip("triton", reason="Triton is missing; install the extra gpu")
    if request.param == "cuda" and not torch.cuda.is_available():
        pytest.skip("needs a GPU")
    if request.param == "interpreter" and not triton.knobs.runtime.interpret:
        pytest.skip("kernels are compiled for the GPU of this machine")
    device = "cpu" if request.param == "interpreter" else "cuda"
    monkeypatch.setattr(choice, "DEVICE_OF_TRITON", device)
    choice.use_kernels(choice.Kernels(rows=True))
    yield device
    choice.use_kernels(choice.PLAIN)


@pytest.fixture(scope="session")
def browser(tmp_path_factory):
    if not (CHROMIUM and DRIVER):
        pytest.skip("chromium or chromedriver is missing")
    webdriver = pytest.importorskip("selenium.webdriver")
    options = webdriver.ChromeOptions()
    options.binary_location = CHROMIUM
    for flag in (
        "--headless=new",
        "--no-sandbox",
        "--disable-gpu",
        "--no-first-run",
        "--disable-background-networking",
        "--disable-component-update",
        "--disable-sync",
        f"--user-data-dir={tmp_path_factory.mktemp('profile')}",
    ):
        options.add_argument(flag)
    options.set_capability("goog:loggingPrefs", {"browser": "ALL", "performance": "ALL"})
    service = webdriver.ChromeService(executable_path=DRIVER)
    with webdriver.Chrome(options=options, service=service) as driver:
        yield driver


@pytest.fixture(scope="session")
def folder(tmp_path_factory):
    """The folder of a comparison of hostile runs."""
    from sweeps.tasks.compare import build_comparison
    from tests.helpers.pages import HEADS, HOSTILE, HOSTILE_TEXT, without_pictures
    from tests.helpers.run_folders import (
        REPORT,
        SCORING,
        history,
        make_failure,
        make_run,
        translations,
    )

    out = tmp_path_factory.mktemp("sweep")

    def run(place, variant, seed=1, **more):
        lines = translations(HOSTILE_TEXT.references, variant, seed)
        lines[0] = HOSTILE_TEXT.references[0]
        made = {"text": HOSTILE_TEXT, "hypotheses": lines, **more}
        return make_run(out / str(place), variant, seed, **made)

    runs = [run(0, "none", history=history()), run(1, HOSTILE[0]), run(2, "luong", 1, heads=HEADS)]
    runs.append(run(3, "luong", 2, history=history(2)))
    runs.append(make_failure(out / "4", error=HOSTILE[0]))
    with without_pictures():
        build_comparison(runs, out, SCORING, REPORT)
    return out


@pytest.fixture(scope="session")
def page(browser, folder):
    """The browser with the report, every fold open and all charts drawn, at the first sentence."""
    from selenium.webdriver.support.ui import WebDriverWait

    from tests.helpers.pages import all_drawn

    browser.get_log("performance")  # what the browser loaded for itself
    browser.get((folder / "report.html").as_uri())
    wait = WebDriverWait(browser, 60)
    wait.until(all_drawn)
    browser.execute_script("document.querySelectorAll('details.fold').forEach(d => d.open = true)")
    browser.execute_script("""const select = document.querySelector('#look select');
        select.selectedIndex = [...select.options].findIndex(each => each.text.startsWith('0:'));
        select.dispatchEvent(new Event('change', {bubbles: true}))""")
    wait.until(all_drawn)
    return browser


@pytest.fixture(scope="module")
def space(tmp_path_factory):
    """A folder for all tests of a file."""
    return tmp_path_factory.mktemp("space")


@pytest.fixture
def here(tmp_path, monkeypatch):
    """The folder with the test set and three systems in files, where the command is run."""
    from tests.helpers.run_folders import write_systems

    write_systems(tmp_path)
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.fixture
def quick_reports(monkeypatch):
    """Draw no pictures and no page, which take most of the time."""
    from tests.helpers.pages import without_pictures

    monkeypatch.setattr("sweeps.report.publish.vega", str)
    monkeypatch.setattr("sweeps.report.publish.render_report", lambda report: "")
    with without_pictures():
        yield
