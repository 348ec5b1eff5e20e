"""Runs a module of this package in an interpreter in which the package need not be installed.

`python -P launcher.py MODULE ARGUMENTS` makes this package importable there, but nothing else that is
installed with it, which may be for another Python or another numpy than Blender's.
"""

import runpy
import sys
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path


def main() -> None:
    """Imports the package from this file's location and runs the module as the main program."""
    folder = Path(__file__).parents[1]
    spec = spec_from_file_location(
        "clevrhope", folder / "__init__.py", submodule_search_locations=[str(folder)]
    )
    if spec is None or spec.loader is None:
        sys.exit(f"{folder}: clevrhope cannot be imported from here")
    sys.modules["clevrhope"] = package = module_from_spec(spec)
    spec.loader.exec_module(package)
    del sys.argv[0]
    runpy.run_module(sys.argv[0], run_name="__main__", alter_sys=True)


if __name__ == "__main__":
    main()
