"""The command, as a function of the library."""

from __future__ import annotations

import sys

from . import _ackclock


def main() -> int:
    """Run the command that the arguments of the process name. Return the exit status."""
    return _ackclock.command(["ackclock", *sys.argv[1:]])


if __name__ == "__main__":
    sys.exit(main())
