"""Published claims: what they measure, and whether they held."""
