"""Extracts the answers from models' free-text replies."""

from clevrhope.metrics.replies.reader import ReplyReader

__all__ = ["ReplyReader"]
