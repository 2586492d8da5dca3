"""Read many pairs of the built-in corpus: ``python -m tests.grammar_checker [PAIRS]``."""

import sys
from itertools import islice

from tests.grammar_checker.drawn import LANGUAGES, SETTINGS, wrong_pairs

SHARES = {"default": 0.4, "hard": 0.25, "rich": 0.35}
SHOWN = 20


def main(most: int) -> bool:
    """Print the first pairs with findings in each language; return whether there are any."""
    found = False
    for language in LANGUAGES:
        for setting in SETTINGS:
            checked = round(SHARES[setting] * most)
            wrong = list(islice(wrong_pairs(setting, checked, language), SHOWN))
            found |= bool(wrong)
            print(f"en-{language} {setting}: {checked:,} pairs, {len(wrong) or 'no'} with findings")
            for source, target, findings in wrong:
                print(f"  {source}\n  {target}\n    {'; '.join(findings)}")
    return found


if __name__ == "__main__":
    sys.exit(main(int(sys.argv[1]) if len(sys.argv) > 1 else 100_000))
