"""Words that a page must show and never obey."""

from tests.run_folders import TEXT, Text

HOSTILE = ["</script><script>alert(1)</script>", "\"'`", "שלום", "語", "<b>", "the", "the"]
WORDS = [*HOSTILE, *["le"] * 13]  # as many as are shown because they are easily read
HOSTILE_TEXT = Text(
    [" ".join(WORDS), *TEXT.sources[1:]], [" ".join(WORDS), *TEXT.references[1:]], TEXT.gold
)
