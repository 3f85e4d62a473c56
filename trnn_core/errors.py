"""The one error that bad input raises."""


class TRNNError(ValueError):
    """Bad input, told in one sentence: what was expected, what came, where, and what to do.

    Pages and the command line show the message as it stands; it never carries a traceback to a user.
    """

    def __init__(self, message: str) -> None:
        """Names from files are part of many messages: line breaks and the like in them become spaces."""
        super().__init__("".join(c if c.isprintable() else " " for c in message))
