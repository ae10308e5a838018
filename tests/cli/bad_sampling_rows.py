"""The table of bad calls of sample, denoise, inpaint and restore, generated: every row is a good call with one
thing wrong. A row is (name, arguments, pattern): the one line on standard error must match the pattern. In
arguments, {good} holds good files and finished results, {bad} spoiled files, {out} is where outputs go."""

import re

MODEL = "{good}/model.safetensors"
PICTURE = "{good}/pngs/0.png"

# Good calls, by name; test_the_bases_are_good runs them as they are.
SAMPLERS = {
    "annealed": "--sampler annealed --steps 4",
    "langevin": "--sampler langevin --steps 4",
    "mala": "--sampler mala --steps 4",
    "hmc": "--sampler hmc --steps 4 --leapfrog 2",
    "fast": "--sampler fast --steps 4",
    "multistep": "--sampler multistep --steps 2 --hot 1",
    "ode": "--sampler ode --steps 2",
}
BASES = {
    **{f"sample {name}": f"sample --model {MODEL} -n 2 {words} --out {{out}}/new".split()
       for name, words in SAMPLERS.items()},
    "denoise": f"denoise {PICTURE} --model {MODEL} --out {{out}}/new".split(),
    "inpaint fast": f"inpaint {PICTURE} --model {MODEL} --box 2,2,4,4 -n 1 --steps 4 --out {{out}}/new".split(),
    "inpaint annealed": (f"inpaint {PICTURE} --model {MODEL} --box 2,2,4,4 -n 1 --sampler annealed --steps 4 "
                         "--out {out}/new").split(),
    "superres": (f"restore {PICTURE} --model {MODEL} --task superres --degrade --steps 4 --out {{out}}/new").split(),
    "deblur": f"restore {PICTURE} --model {MODEL} --task deblur --kernel box:3 --steps 4 --out {{out}}/new".split(),
    "missing": (f"restore {PICTURE} --model {MODEL} --task missing --random-missing 0.5 --steps 4 "
                "--out {out}/new").split(),
}
ONE_OF_EACH = ["sample fast", "denoise", "inpaint fast", "superres", "deblur", "missing"]
ON_PICTURES = ONE_OF_EACH[1:]
WITH_MASK = ["inpaint fast", "inpaint annealed", "missing"]

# Numeric options of each base; every one is given every bad value.
COMMON = "batch scale threads tile"
FAST = "steps hot sigma-max h0 beta sigma-end"
PHASES = "eps temperature-high temperature-low steps-hot steps-cool steps-end start-sigma"
FIT = "limit crop resize pad"
NUMBERS = {
    "sample annealed": f"n columns {COMMON} {PHASES} steps",
    "sample langevin": "eps temperature burn-in steps",
    "sample mala": "eps accept burn-in",
    "sample hmc": "leapfrog accept eps temperature-high",
    "sample fast": f"n {FAST} {COMMON}",
    "sample multistep": "steps hot sigma-max sigma-min churn guidance guidance-min guidance-max class-weight class-min class-max",
    "sample ode": "steps sigma-max sigma-min rho",
    "denoise": f"steps strength share add-noise seed {COMMON} {FIT}",
    "inpaint fast": f"n seed random-missing {FAST} {COMMON} {FIT}",
    "inpaint annealed": f"{PHASES}",
    "superres": f"factor n seed {FAST} {COMMON} {FIT}",
    "deblur": "threshold n seed",
    "missing": "random-missing n seed",
}
BAD_NUMBERS = ["nan", "inf", "-2", "many", "1e+30", "0x10"]
WORDS = {"sampler": "ising", "split": "both", "colour": "blue", "engine": "abacus", "task": "magic",
         "integrator": "simpson", "device": "tpu"}

# Which samplers know an option; given to another one it is refused.
OWNED = {
    "eps 0.1": "annealed langevin mala hmc",
    "schedule linear": "annealed mala hmc",
    "temperature-high 50": "annealed mala hmc",
    "temperature-low 2": "annealed mala hmc",
    "steps-hot 2": "annealed mala hmc",
    "burn-in 2": "langevin mala hmc",
    "accept 0.5": "mala hmc",
    "leapfrog 3": "hmc",
    "h0 0.1": "fast",
    "beta 0.5": "fast",
    "sigma-end 0.1": "fast",
    "hot 3": "fast multistep ode",
    "integrator euler": "ode",
    "sigma-max 2": "fast multistep ode",
    "churn 2": "multistep",
    "guide cifar10": "multistep",
    "guidance 1": "multistep",
    "classes all": "multistep",
    "sigma-min 0.1": "multistep ode",
    "rho 3": "ode",
    "start-sigma 2": "annealed langevin mala hmc",
}

MODELS = ["empty", "four_bytes", "text", "absurd_length", "length_past_end", "no_json", "header_list", "deep_json",
          "truncated", "header_cut", "nan", "infinite", "wrong_shape", "offset_past_end", "negative_offset",
          "offsets_swapped", "dtype", "dtype_nonsense", "missing_parameter", "extra_parameter", "hole", "overlap",
          "no_metadata", "metadata_list", "metadata_spoiled"]
PICTURES = {
    "pictures/spoiled/a.png": "damaged PNG", "pictures/cut/a.png": "damaged PNG",
    "pictures/enormous/a.png": "damaged PNG|too many", "pictures/text/a.png": "neither PNG nor JPEG",
    "pictures/empty_file/a.png": "empty", "pictures/jpeg_cut/a.jpg": "damaged JPEG",
    "pictures/jpeg_start/a.jpg": "damaged JPEG", "none.png": "no such file", "pipe": "not a regular file",
}
SETS = {f"npy/{name}.npy": pattern for name, pattern in {
    "text": "not an .npy", "empty": "not an .npy", "magic_only": "", "truncated": "", "header_cut": "", "nan": "",
    "object": r"\|O", "complex": "<c8", "one_dimension": "", "no_images": "", "huge": "", "negative": "",
    "out_of_range": ""}.items()}
SETS.update({"none": "neither a known data set nor a path", "pictures/no_pictures": "no images",
             "pictures/empty": "no images", "pictures/unequal": "pixels where"})
BOXES = ["", "1", "1,2,3", "a,b,c,d", "0,0,0,4", "0,0,4,0", "-1,0,4,4", "0,-1,4,4", "0,0,17,4", "0,0,4,17", "16,0,1,1",
         "0,16,1,1", "0,0,99999999999999999999,1", "9223372036854775807,0,9223372036854775807,1", "1,1,1,1,1",
         "1.5,2,3,4", "0;0;4;4", "0,0,4,4 ", "0,0,4,4px", "nan,0,1,1"]
SEEDS = ["", "a", "5-3", "1,,2", ",", "1,1", "0-3,2", "-1", "1-", "-", "1--3", "99999999999999999999", "0-99999999999",
         "1.5", " 1", "1 2", "0x10", "9999999999999999999", "0-9,a", "0:9", "1e3", "0-9000000000000000"]
KERNELS = {
    "box": "no such file", "box:": "no number", "box:4": "odd|even", "box:0": "no size", "box:-1": "no size",
    "box:x": "no number", "box:3.5": "no size", "box:17": "large|17", "box:1e9": "no size", "box:nan": "number|size",
    "gaussian:": "no number", "gaussian:0": "width|0", "gaussian:-1": "width|-1", "gaussian:nan": "number|width",
    "gaussian:inf": "number|width", "gaussian:1e9": "width", "gaussian:50": "large|[0-9]", "triangle:3": "no such file",
    "{bad}/none.npy": "no such file", "{bad}/npy/text.npy": "not an .npy", "{bad}/npy/truncated.npy": "",
    "{bad}/npy/nan.npy": "two dimensions", "{bad}/npy/one_dimension.npy": "two dimensions",
    "{bad}/kernels/zero.npy": "sums to 0", "{bad}/kernels/even.npy": "odd|even", "{bad}/kernels/nan.npy": "finite",
    "{bad}/kernels/large.npy": "large|33", "{bad}/kernels/empty.npy": "", "{bad}/pictures/cut/a.png": "damaged PNG",
    "{bad}/pictures/text/a.png": "neither PNG nor JPEG", "{good}": "folder",
}
SCHEDULES = {"none.txt": "neither a schedule nor a file", "schedules/empty.txt": "", "schedules/comment.txt": "",
             "schedules/words.txt": "warm", "schedules/negative.txt": "-1", "schedules/nan.txt": "nan",
             "schedules/infinite.txt": "inf", "schedules/huge.txt": "", "pictures/text": "folder", "pipe": "regular"}
FITS = {  # of a 16x16 picture to a 16x16 model
    "--crop 17": "cropped to 17", "--crop 4096": "cropped to 4096", "--resize 8 --pad 0": "model takes 16x16",
    "--resize 20": "model takes 16x16", "--pad 8": "padded to 8", "--pad 32": "model takes 16x16",
    "--crop 8 --pad 0": "model takes 16x16", "--crop 8 --pad 4": "padded to 4", "--resize 4096": "model takes 16x16",
    "--colour rgb": "channels|--colour grey", "--resize 32 --pad 16": "padded to 16",
}
OUTS = {"{bad}/a_file": "is a file|is a folder|file", "{bad}/a_file/new": "cannot create the folder",
        "/proc/nowhere/new": "cannot create the folder", "{bad}/pipe": "is a file|file",
        "{good}/pngs/0.png": "is a file|file", "/sys/new": "cannot create the folder|cannot be written",
        "{out}/" + "long" * 100: "cannot create the folder|name"}
STORES = {"json_cut": "damaged", "json_list": "damaged", "npy_cut": "", "npy_missing": "no such file",
          "seeds_text": "damaged", "seeds_short": "damaged", "no_parameters": "there, but", "trace_missing": "no such file",
          "shape": "damaged", "energy_text": "damaged"}


def changed(base, *words, drop=()):
    """The arguments of a base without some options (and their values), and with more words at the end."""
    kept, skip = [], False
    for word in BASES[base]:
        if skip:
            skip = False
        elif word in drop:
            skip = True
        else:
            kept.append(word)
    return kept + list(words)


def with_model(base, model):
    return changed(base, "--model", model, drop=["--model"])


def with_picture(base, *pictures):
    return [word for word in BASES[base] if word != PICTURE] + list(pictures)


def numbers():
    for base, options in NUMBERS.items():
        for option in options.split():
            for value in BAD_NUMBERS:
                drop = ["--box"] if option == "random-missing" else []
                yield (f"{base}: {option} {value}", changed(base, f"--{option}={value}", drop=drop),
                       f"{option}: '{re.escape(value)}'")
    for base in BASES:
        for option, word in WORDS.items():
            known = (option not in ("task", "integrator", "sampler", "split", "colour") or
                     option == "task" and base in ("superres", "deblur", "missing") or
                     option == "integrator" and base == "sample ode" or
                     option == "sampler" and base.startswith(("sample", "inpaint")) or
                     option in ("split", "colour") and base in ON_PICTURES)
            if known:
                yield f"{base}: {option} {word}", changed(base, f"--{option}={word}"), word


def foreign_options():
    for words, owners in OWNED.items():
        option, value = words.split()
        for name in SAMPLERS:
            if name not in owners.split():
                yield (f"{name} with {option}", changed(f"sample {name}", f"--{option}", value),
                       f"--{option} has no meaning for --sampler {name}")
    for option, value in (("eps", "0.1"), ("schedule", "linear"), ("steps-hot", "3")):
        yield (f"inpaint fast with {option}", changed("inpaint fast", f"--{option}", value),
               f"--{option} has no meaning for --sampler fast")


def model_files():
    for base in ("sample fast", "sample annealed", "denoise", "inpaint fast", "superres"):
        for name in MODELS:
            yield f"{base}: model {name}", with_model(base, f"{{bad}}/models/{name}.safetensors"), f"{name}.safetensors"
    for base in BASES:
        yield f"{base}: model not there", with_model(base, "{bad}/none.safetensors"), "none.safetensors: no such file"
        yield f"{base}: model is a folder", with_model(base, "{bad}"), "bad: a folder without"
        if base != "denoise":  # which has models for pictures; of a data set one has to be named
            yield f"{base}: no model", changed(base, drop=["--model"]), "no model given.*mdsm train"
    for base in ON_PICTURES:
        yield f"{base}: model of colours", with_model(base, "{good}/rgb.safetensors"), "1 channel.*takes 3.*--colour rgb"
        yield f"{base}: picture in colours", with_picture(base, "{good}/rgb/0.png"), "3 channels.*takes 1.*--colour grey"


def pictures():
    for base in ON_PICTURES:
        for name, pattern in PICTURES.items():
            yield f"{base}: {name}", with_picture(base, "{bad}/" + name), pattern
            yield f"{base}: good one and {name}", with_picture(base, PICTURE, "{bad}/" + name), pattern
        for name, pattern in SETS.items():
            yield f"{base}: data {name}", with_picture(base, "--data", "{bad}/" + name), pattern
        for words, pattern in FITS.items():
            yield f"{base}: {words}", changed(base, *words.split()), pattern
        for name in ("empty", "no_pictures"):
            yield f"{base}: folder {name}", with_picture(base, "{bad}/pictures/" + name), "no images"
        yield f"{base}: one name twice", with_picture(base, PICTURE, "{good}/copy/0.png"), "both would be written as 0.png"
        yield f"{base}: no pictures", with_picture(base), "no pictures given"
        yield f"{base}: pictures and data", changed(base, "--data", "{good}/pngs"), "both pictures and --data"
        if base == "denoise":
            yield f"{base}: called figure", with_picture(base, "{good}/named/figure.png"), "over figure.png"


def masks():
    for base in WITH_MASK:
        bare = changed(base, drop=["--box", "--random-missing"])
        for name, pattern in PICTURES.items():
            yield f"{base}: mask {name}", bare + ["--mask", "{bad}/" + name], pattern
        for size in ("1x1", "15x16", "16x15", "17x16", "32x32", "200x1"):
            yield f"{base}: mask of {size}", bare + ["--mask", f"{{bad}}/masks/{size}.png"], f"a mask of {size} pixels"
        yield f"{base}: empty mask", bare + ["--mask", "{bad}/masks/black.png"], "hides no pixel"
        yield f"{base}: no mask", bare, "nothing says which pixels"
        for box in BOXES:
            yield f"{base}: box '{box}'", bare + [f"--box={box}"], "box"
        yield f"{base}: box and mask", bare + ["--box", "1,1,2,2", "--mask", "{good}/mask.png"], "several options say"
        yield (f"{base}: box and chance", bare + ["--box", "1,1,2,2", "--random-missing", "0.5"], "several options say")
        yield f"{base}: mask outside the crop", bare + ["--crop", "8", "--box", "0,0,2,2"], "outside the cropped part"


def outputs():
    for base in BASES:
        for path, pattern in OUTS.items():
            yield f"{base}: out {path[:30]}", changed(base, "--out", path, drop=["--out"]), pattern
        command = base.split()[0] if base in ("denoise",) or " " in base else "restore"
        done = changed(base, "--out", "{good}/done-" + command, drop=["--out"])
        pattern = "holds samples already.*--resume" if command == "sample" else "exists already.*--force"
        yield f"{base}: over results", done, pattern
        if command == "sample":
            pattern = "is .* there, but .* here"
            other = "--sigma-max=2.5" if base in ("sample fast", "sample multistep", "sample ode") else "--start-sigma=3"
            yield f"{base}: resume another", done + ["--resume", other], pattern
            yield f"{base}: resume and force", changed(base, "--resume", "--force"), "exclude each other"
    for name, pattern in STORES.items():
        out = ["--out", f"{{bad}}/stores/{name}"]
        yield f"store {name}", changed("sample fast", *out, "--resume", drop=["--out"]), pattern
        yield f"store {name}, no resume", changed("sample fast", *out, drop=["--out"]), "holds samples already"


def command_line():
    for base in BASES:
        yield f"{base}: unknown option", changed(base, "--sead", "1"), "unknown option 'sead'"
        yield f"{base}: value missing", changed(base, "--threads"), "--threads needs a value"
        yield f"{base}: switch", changed(base, "--json=perhaps"), "--json: 'perhaps'"
        yield f"{base}: cuda without torch", changed(base, "--device", "cuda"), "(?i)cuda|device"
        if base.startswith("sample"):
            yield f"{base}: stray argument", changed(base, "cats"), "unexpected argument 'cats'"
            yield f"{base}: no samples", changed(base, "-n", "0"), "n: '0'"
        if base not in ("sample langevin",):
            zero = changed(base, "--steps", "0")
            yield f"{base}: no steps", zero, "steps: '0'"


def sampling():
    for seeds in SEEDS:
        yield f"seeds '{seeds}'", changed("sample fast", f"--seeds={seeds}", drop=["-n"]), "--seeds: "
    for seeds in ("0-9", "5", "1,2,3"):
        yield f"-n 2 and seeds {seeds}", changed("sample fast", "--seeds", seeds), "-n 2, but --seeds"
    for base in ("sample annealed", "sample mala", "sample hmc", "inpaint annealed"):
        bare = changed(base, drop=["--steps"])
        for name, pattern in SCHEDULES.items():
            yield f"{base}: schedule {name}", bare + ["--schedule", "{bad}/" + name], pattern
        good = ["--schedule", "{good}/schedule.txt"]
        yield f"{base}: schedule file and steps", changed(base, *good), "says how many steps"
        yield f"{base}: schedule file and phases", bare + good + ["--steps-hot", "2"], "says how many steps"
        yield f"{base}: steps and phases", changed(base, "--steps-cool", "3"), "exclude each other"
        yield f"{base}: one temperature, exp", changed(base, "--temperature", "2"), "--temperature belongs to"
        yield f"{base}: phases, constant", bare + ["--schedule", "constant", "--steps-hot", "2"], "no phases"
        yield f"{base}: low above high", changed(base, "--temperature-low", "200"), "200"
        yield f"{base}: all phases empty", bare + ["--steps-hot=0", "--steps-cool=0", "--steps-end=0"], "step"
    for base in ("sample mala", "sample hmc"):
        yield f"{base}: all burn-in", changed(base, "--schedule", "constant", "--burn-in", "4"), "--burn-in 4.*4 steps"
    yield "langevin: all burn-in", changed("sample langevin", "--burn-in", "9"), "--burn-in 9.*4 steps"
    for low, high in (("2", "1"), ("1", "1"), ("1000", "0.5")):
        yield (f"ode from {high} to {low}", changed("sample ode", "--sigma-min", low, "--sigma-max", high),
               "not below --sigma-max")


def restoring():
    for kernel, pattern in KERNELS.items():
        yield f"kernel {kernel}", changed("deblur", f"--kernel={kernel}", drop=["--kernel"]), pattern
        yield (f"kernel {kernel}, degrading", changed("deblur", f"--kernel={kernel}", "--degrade", drop=["--kernel"]),
               pattern)
    for factor in ("3", "5", "6", "7", "9", "12"):
        yield f"factor {factor}", changed("superres", "--factor", factor), f"factor {factor}.*multiple|divide"
    foreign = {"superres": ["--kernel box:3", "--threshold 0.2", "--box 1,1,2,2", "--random-missing 0.5",
                            "--mask {good}/mask.png"],
               "deblur": ["--factor 2", "--box 1,1,2,2", "--random-missing 0.5", "--mask {good}/mask.png"],
               "missing": ["--factor 2", "--kernel box:3", "--threshold 0.2", "--degrade"]}
    for base, options in foreign.items():
        for words in options:
            option = words.split()[0]
            yield f"{base} with {option}", changed(base, *words.split()), f"{option} has no meaning for --task {base}"
    yield "no task", changed("superres", drop=["--task"]), "--task is missing"
    yield "denoise: share of one jump", changed("denoise", "--share", "0.5"), "--share has no meaning"


def all_rows():
    found = []
    for part in (numbers, foreign_options, model_files, pictures, masks, outputs, command_line, sampling, restoring):
        found.extend(part())
    return found
