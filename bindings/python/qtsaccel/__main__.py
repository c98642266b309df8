"""The command line tool that the wheel carries: `qtsaccel devices`, or `python -m qtsaccel`."""

import os
import sys

from ._library import NATIVE


def main() -> None:
    """Becomes the tool."""
    tool = NATIVE / "bin" / "qtsaccel"
    if not tool.exists():
        sys.exit(f"this package was not installed from a wheel: there is no {tool}")
    os.execv(tool, [str(tool), *sys.argv[1:]])


if __name__ == "__main__":
    main()
