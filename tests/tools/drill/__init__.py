"""The reliability drill: mistakes, damage, kills, full disks and more, drawn with a seed."""
