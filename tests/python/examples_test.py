"""Every command of "Two examples" in docs/score.md, in order, with fewer images and a photograph from the repository.

Usage: examples_test.py PATH_OF_MDSM SOURCE_FOLDER, with the module on PYTHONPATH."""
import csv
import os
import shlex
import shutil
import subprocess
import sys
import tempfile

MDSM, SOURCE = map(os.path.abspath, sys.argv[1:3])
OUTLIERS = 3
FEWER = {"fashion-mnist": ["--good", "100", "--each", "12"], "photo.jpg": ["--good", "90"]}


def commands():
    with open(os.path.join(SOURCE, "docs/score.md"), encoding="utf-8") as file:
        section = file.read().split("## Two examples")[1].split("\n## ")[0]
    return [shlex.split(line, comments=True) for line in section.splitlines() if line.startswith("    ") and line.split()[0] in ("python3", "mdsm")]


def run(words, root):
    """Returns what was written to a file by >."""
    codes = (0,)
    if words[0] == "python3":
        words = [sys.executable, os.path.join(SOURCE, words[1]), *words[2:], *FEWER[words[2]]]
    else:
        codes = (0,) if "--fit" in words else (0, OUTLIERS)
        words = [MDSM, *(word if word != "0.02" else "0.05" for word in words[1:])]  # 2 % would need 49 held-out images
    out = words[words.index(">") + 1] if ">" in words else None
    if out:
        words = words[:words.index(">")]
    result = subprocess.run(words, cwd=root, capture_output=True, text=True, timeout=600, check=False)
    assert result.returncode in codes, f"{words}: {result.returncode}\n{result.stderr}"
    if out:
        with open(os.path.join(root, out), "w", encoding="utf-8") as file:
            file.write(result.stdout)


def heat_of(rows):
    return sum(float(row["local"]) for row in rows) / len(rows)


def scores(root, words):
    """By the detector of a command that scores, as CSV."""
    kept = words[1:words.index("--detector") + 2]
    result = subprocess.run([MDSM, *kept, "--format", "csv"], cwd=root, stdout=subprocess.PIPE, text=True, timeout=600, check=False)
    return list(csv.DictReader(result.stdout.splitlines()))


def main():
    root = tempfile.mkdtemp(prefix="mdsm_examples_")
    try:
        shutil.copy(os.path.join(SOURCE, "examples/chelsea.jpg"), os.path.join(root, "photo.jpg"))
        listed = commands()
        assert len(listed) >= 8, listed
        for words in listed:
            run(words, root)
        for name in ("clothes", "squares"):
            heat = os.listdir(os.path.join(root, name, "heat"))
            assert sorted(heat) == sorted(os.listdir(os.path.join(root, name, "damaged"))), heat
            fresh, damaged = ([words for words in listed if words[:3] == ["mdsm", "score", f"{name}/{part}"]][0] for part in ("fresh", "damaged"))
            usual, found = heat_of(scores(root, fresh)), heat_of(scores(root, damaged))
            print(f"{name}: local {usual:.2f} fresh, {found:.2f} damaged")
            assert found > usual + 0.5, name
    finally:
        shutil.rmtree(root, ignore_errors=True)


main()
