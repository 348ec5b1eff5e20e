"""What HDF5 says of a file that it cannot read in, what is wrong with the file in a few words out."""

import re

_CUT = re.compile(r"\beof = (\d+).*stored_eof = (\d+)")


def hdf5_words(error: OSError) -> str:
    """What is wrong: "cut off: 1,000 bytes are there, of 20,480", for one."""
    text = str(error)
    cut = _CUT.search(text)
    if cut:
        return f"cut off: {int(cut[1]):,} bytes are there, of {int(cut[2]):,}"
    if isinstance(error, FileNotFoundError):
        return "no such file"
    if isinstance(error, PermissionError):
        return "it may not be read"
    if "signature not found" in text:
        return "empty, or damaged where it begins"
    return "damaged within"
