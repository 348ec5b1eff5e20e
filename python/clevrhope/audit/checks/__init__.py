"""The checks of an audit, one in each module."""
