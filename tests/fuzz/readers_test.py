"""A source that reads bytes from outside has a fuzz target: tests/fuzz/readers.txt names it, the target exists and has a
corpus. A source or header is taken for a reader when it calls one of the functions below; JSON is parsed in core/json.cpp
alone."""
import glob
import os
import re
import subprocess
import sys

ROOT, REGRESSION = sys.argv[1:3]
# What takes bytes apart, or takes them from the system.
DIRECT = re.compile(r"\b(fopen|gzopen|getline|mmap|fread|recv|recvmsg|inflate|inflateInit2?|uncompress|archive_read_\w+|Mat_Open|jpeg_mem_src|TIFFClientOpenExt|"
                    r"WebPGetFeatures|WebPDecode\w*|png_set_read_fn|parse_json|parse_strict_json|parse_toml|pread)\(|\bifstream\b|"
                    r"\bJsonObject::parse\(|(?<![\w>])::read\(|(?<![\w>])::open\((?![^;]*O_WRONLY)")
# What hands bytes on, or names a reader of its own room.
READS = re.compile(r"\b(read_bytes|read_text|open_file|read_npy|parse_npy|SafetensorsFile|read_image|decode_image|decode_picture|"
                   r"decode_file|decode_png|decode_jpeg|decode_tiff|decode_webp|read_archive|read_zip|PickleDocument|for_each_entry|first_entries|"
                   r"read_cifar_pickle|load_detector|read_state_dict|load_model|load_classifier)\(")
# Rooms that only hand paths on by those; what they take apart themselves is looked for there, too.
CALLERS = ("src/app/", "src/cli/", "src/engine/", "src/api/", "src/bench/")
failures = []
for example in ("std::ifstream in(path);", "parse_json(text)", "JsonObject::parse(text, damaged)", "Mat_Open(path, 0)", "::open(path, O_RDONLY)", "::pread(file, to, n, 0)",
                "inflate(&stream, Z_FINISH)", "jpeg_mem_src(&decoder, data, size)", "recv(socket, to, n, 0)", "::read(file, to, n)"):
    if not DIRECT.search(example):
        failures.append(f"not seen as a reader: {example}")
for example in ("::open(path, O_WRONLY | O_CREAT, 0666)", "RunFolder::open(path)", "spread(values)", "Channels::read(index, out)"):
    if DIRECT.search(example):
        failures.append(f"seen as a reader: {example}")


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
for path in sorted(one for end in ("cpp", "h") for top in ("src", "include") for one in glob.glob(f"{ROOT}/{top}/**/*.{end}", recursive=True)):
    name = os.path.relpath(path, ROOT)
    with open(path, encoding="utf-8") as file:
        text = re.sub(r"//.*", "", file.read())
    if "json::parse(" in text and name != "src/core/json.cpp":
        failures.append(f"{name}: parses JSON on its own; use core/json.h")
    if "toml::parse(" in text and name != "src/core/toml.cpp":
        failures.append(f"{name}: parses TOML on its own; use core/toml.h")
    if re.search(r"\.get<(u?int\d*(_t)?|float|size_t)>\(\)", text) and name != "src/core/json.cpp" and "json" in text:
        failures.append(f"{name}: takes a number out of JSON without a check; use json_value or JsonObject")
    hands_on = name.endswith(".h") or name.startswith(CALLERS)  # headers declare readers
    if (DIRECT.search(text) or (READS.search(text) and not hands_on)) and name not in rows:
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
