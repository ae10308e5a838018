"""python3 -m mdsm: the mdsm program."""

import sys

from . import _core

sys.exit(_core.run_program(["mdsm", *sys.argv[1:]]))
