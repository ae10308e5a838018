"""A source that reads bytes from outside has a fuzz target: tests/fuzz/readers.txt names it, the target exists and has a
corpus. A source is taken for a reader when it calls one of the functions below; JSON is parsed in core/json.cpp alone."""
import glob
import os
import re
import subprocess
import sys

ROOT, REGRESSION = sys.argv[1:3]
READS = re.compile(r"\b(read_bytes|read_text|open_file|gzopen|archive_read_\w+|fopen|Mat_Open|read_npy|parse_npy|SafetensorsFile|read_image|"
                   r"decode_image|decode_picture|decode_file|decode_png|decode_jpeg|decode_tiff|decode_webp|TIFFClientOpenExt|WebPGetFeatures|uncompress|parse_json|parse_strict_json|parse_toml|read_archive|read_zip|getline|mmap|"
                   r"PickleDocument|for_each_entry|first_entries|read_cifar_pickle|load_detector|parse_npy_array|read_state_dict|load_model|load_classifier)\(|\bifstream\b")
# Declared elsewhere and only called here: the sources of commands, which hand paths on.
CALLERS = ("src/app/", "src/cli/", "src/engine/", "src/api/", "src/bench/")
failures = []


def table():
    rows = {}
    with open(os.path.join(ROOT, "tests/fuzz/readers.txt"), encoding="utf-8") as file:
        for line in file:
            words = line.split("#")[0].split()
            if words:
                rows[words[0]] = words[1:]
    return rows


rows = table()
targets = set(os.listdir(os.path.join(ROOT, "tests/fuzz/corpus")))
with open(os.path.join(ROOT, "tests/fuzz/targets.cpp"), encoding="utf-8") as file:
    known = set(re.findall(r'\{"(\w+)",\s*\[\]\(Bytes', file.read()))
if known != targets:
    failures.append(f"targets without a corpus, or the other way: {sorted(known ^ targets)}")
for path in sorted(glob.glob(ROOT + "/src/**/*.cpp", recursive=True)):
    name = os.path.relpath(path, ROOT)
    with open(path, encoding="utf-8") as file:
        text = re.sub(r"//.*", "", file.read())
    if "json::parse(" in text and name != "src/core/json.cpp":
        failures.append(f"{name}: parses JSON on its own; use core/json.h")
    if "toml::parse(" in text and name != "src/core/toml.cpp":
        failures.append(f"{name}: parses TOML on its own; use core/toml.h")
    if re.search(r"\.get<(u?int\d*(_t)?|float|size_t)>\(\)", text) and name != "src/core/json.cpp" and "json" in text:
        failures.append(f"{name}: takes a number out of JSON without a check; use json_value or JsonObject")
    if READS.search(text) and name not in rows and not name.startswith(CALLERS):
        failures.append(f"{name}: reads bytes from outside, but tests/fuzz/readers.txt does not name its fuzz target")
for name, words in rows.items():
    if not os.path.exists(os.path.join(ROOT, name)):
        failures.append(f"readers.txt: {name} is no source")
    if not words:
        failures.append(f"readers.txt: {name} has no target")
    elif words[0] != "-":
        failures += [f"readers.txt: {name}: no target {word}" for word in words if word not in known]
    elif len(words) < 3:
        failures.append(f"readers.txt: {name}: say why it needs none")
unused = known - {word for words in rows.values() if words and words[0] != "-" for word in words}
if unused:
    failures.append(f"targets that readers.txt does not name: {sorted(unused)}")
if subprocess.run([REGRESSION], check=False).returncode != 2:
    failures.append("the regression program does not start")
for failure in failures:
    print(failure, file=sys.stderr)
sys.exit(1 if failures else 0)
