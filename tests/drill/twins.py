"""Equal commands at once: one trains, the others wait and take its result."""

import random
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from tests.drill.commands import Part, command, training

AT_ONCE = (2, 8)


def drill(space: Path, count: int, draw: random.Random) -> Part:
    """Start as many equal trainings in a folder as the first ``count`` numbers of ``AT_ONCE``."""
    wrong = []
    for commands in AT_ONCE[:count]:
        arguments = training(space / f"{commands}", space / f"cache-{commands}")
        with ThreadPoolExecutor(commands) as pool:
            outs = [space / f"{commands}-{twin}.out" for twin in range(commands)]
            ended = list(pool.map(lambda out, given=arguments: command(given, out), outs))
        failed = [str(each) for each in ended if each.status]
        wrong += [f"{commands} at once: {line}" for line in failed]
        waited = sum("finished before" in each.output for each in ended)
        if not failed and waited != commands - 1:
            wrong.append(f"{commands} at once: {commands - waited} trained")
    return Part(count, wrong)
