"""Reports what this machine and environment have, and how to fix what is missing or broken.

Nothing heavy is loaded: Blender, torch and other large libraries are examined by their metadata.
"""

from clevrhope.doctor.blender import blender_finding
from clevrhope.doctor.finding import BROKEN, Finding
from clevrhope.doctor.machine import machine_findings
from clevrhope.doctor.software import software_findings

__all__ = ["BROKEN", "Finding", "examine"]


def examine() -> list[Finding]:
    """All findings, in the order in which they are shown."""
    return [*software_findings(), blender_finding(), *machine_findings()]
