"""Options by keyword: those of the command line, with _ in place of -."""

from __future__ import annotations

import json
import numbers
from typing import Any, Dict, List, Optional, Tuple

from . import _core

Settings = List[Tuple[str, str]]


def text(value: Any) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, (list, tuple, range)):
        return ",".join(text(one) for one in value)
    return str(value)


def settings(options: Dict[str, Any]) -> Settings:
    """None leaves an option out."""
    return [(name.replace("_", "-"), text(value)) for name, value in options.items() if value is not None]


def run(command: str, *places: str, **options: Any) -> Any:
    """Runs a command of the mdsm program in this process; returns what it prints with --json.

    run("likelihood", model="fashion-mnist", data="fashion-mnist", method="denoising", limit=100, out="folder")

    True stands for an option that takes no value. docs/cli.md has them all.
    """
    words = [command]
    for name, value in options.items():
        if value is None or value is False:
            continue
        words.append("--" + name.replace("_", "-"))
        if value is not True:
            words.append(text(value))
    if command == "score":
        words += ["--format", "json"]
    elif command not in ("train", "reproduce", "import", "export", "bench"):
        words.append("--json")
    found = _core.run_command(words + [str(place) for place in places])
    return json.loads(found) if found else None


def seeds_of(n: Optional[int], seeds: Any) -> List[int]:
    if n is not None and (isinstance(n, bool) or not isinstance(n, numbers.Integral) or not 1 <= n <= 10**7):
        raise ValueError(f"n: 1 to 10000000 images, not {n!r}")
    if seeds is None:
        seeds = range(1 if n is None else n)
    found = [int(seed) for seed in seeds]
    if n is not None and len(found) != n:
        raise ValueError(f"{len(found)} seeds for {n} images")
    if not found:
        raise ValueError("at least one image is wanted")
    if min(found) < 0 or max(found) >= 2**64:
        raise ValueError("seeds: 0 to 2**64-1")
    return found
