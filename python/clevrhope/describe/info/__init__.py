"""The information that `clevrhope info` shows on a folder: its content, and how it was made."""
