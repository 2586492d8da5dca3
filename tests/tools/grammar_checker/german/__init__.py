"""The German part of the checker: it looks for a reading of a sentence in which all agrees.

German needs the whole clause before its parts are known: *die Frau* may be subject or object, and
the verb that decides stands at the end. So all readings are tried, and a sentence without one is
wrong. All modules read from left to right.
"""
