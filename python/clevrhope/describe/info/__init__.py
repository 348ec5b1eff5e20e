"""The information that `clevrhope info` shows on a folder: its content, its making, possible additions."""
