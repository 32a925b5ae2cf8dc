"""Errors with one sentence for the user: what is wrong, the value, what to do."""


class KpdemoError(Exception):
    """The base of every error that kpdemo raises on purpose."""


class InputError(KpdemoError, ValueError):
    """The text, the file or an option cannot be used as it is."""


class LanguageError(InputError):
    """The document is in a language or script that the model does not read."""


class LengthError(InputError):
    """The text is longer than what is read there."""


class ConfigError(KpdemoError, ValueError):
    """A configuration file or setting is wrong."""


class ModelLoadError(KpdemoError):
    """A checkpoint is missing, damaged or of an unknown kind."""


class PassageIndexError(KpdemoError):
    """A passage index is missing, damaged, or does not fit what is asked of it."""


class MissingIndexError(PassageIndexError):
    """There is no passage index where one was named."""


class ModelStoppedError(KpdemoError):
    """The process of a model died before it had answered."""


class StoppedError(KpdemoError):
    """The caller did not want to wait for the answer."""


class BusyError(KpdemoError):
    """Too many others wait for the same."""


class TrainingError(KpdemoError):
    """A training run cannot start or go on."""
