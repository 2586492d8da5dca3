"""The one kind of error that a user can cause and mend."""


class UserError(Exception):
    """Wrong input. Its message is one line that says what is wrong and what to do about it.

    ``run.py`` prints the line and exits with status 2, without a traceback; any other exception is
    a defect of the harness and keeps its traceback.
    """
