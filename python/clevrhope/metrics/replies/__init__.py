"""Reads the answers out of models' replies in free words."""

from clevrhope.metrics.replies.reader import ReplyReader

__all__ = ["ReplyReader"]
