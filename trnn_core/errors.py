"""The one error that bad input raises."""


class TRNNError(ValueError):
    """Bad input, told in one sentence: what was expected, what came, where, and what to do.

    Pages and the command line show the message as it stands; it never carries a traceback to a user.
    """
