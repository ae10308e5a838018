"""mdsm train from the outside: what a run folder holds, TensorBoard events read by an independent decoder, the
rules of --resume, Ctrl-C, the lock, --dry-run, and a disk that is full."""
import glob
import json
import os
import signal
import struct
import subprocess
import sys
import tempfile
import time

from run_tools import content, curve, mdsm, the_run, tiny_options, write_images

PROGRAM = sys.argv[1]


def crc32c(data):
    crc = 0xFFFFFFFF
    for byte in data:
        crc ^= byte
        for _ in range(8):
            crc = crc >> 1 ^ (0x82F63B78 if crc & 1 else 0)
    return crc ^ 0xFFFFFFFF


def unmask(value):
    value = (value - 0xA282EAD8) & 0xFFFFFFFF
    return (value >> 17 | value << 15) & 0xFFFFFFFF


def records(raw):
    at = 0
    while at < len(raw):
        (length,), (check,) = struct.unpack_from("<Q", raw, at), struct.unpack_from("<I", raw, at + 8)
        assert unmask(check) == crc32c(raw[at:at + 8]), "checksum of a length"
        payload = raw[at + 12:at + 12 + length]
        assert unmask(struct.unpack_from("<I", raw, at + 12 + length)[0]) == crc32c(payload), "checksum of a record"
        yield payload
        at += 16 + length


def fields(message):
    at = 0

    def varint():
        nonlocal at
        value = shift = 0
        while True:
            byte = message[at]
            at += 1
            value |= (byte & 127) << shift
            shift += 7
            if byte < 128:
                return value

    found = []
    while at < len(message):
        number, wire = divmod(varint(), 8)
        if wire == 0:
            found.append((number, varint()))
            continue
        size = {1: 8, 5: 4}.get(wire) or varint()
        value, at = message[at:at + size], at + size
        found.append((number, struct.unpack("<d" if wire == 1 else "<f", value)[0] if wire in (1, 5) else value))
    return found


def read_events(run):
    """{step: {tag: value}} over all event files in the order TensorBoard reads them, restarts respected."""
    scalars, pictures, files = {}, {}, sorted(glob.glob(run + "/events.out.tfevents.*"))
    for path in files:
        events = [dict(fields(r)) for r in records(open(path, "rb").read())]
        assert events[0][3] == b"brain.Event:2"
        for event in events[1:]:
            if 7 in event:
                assert dict(fields(event[7])) == {1: 1}
                scalars = {step: v for step, v in scalars.items() if step < event[2]}
            else:
                values = [dict(fields(v)) for n, v in fields(event[5]) if n == 1]
                if any(4 in v for v in values):
                    pictures[event[2]] = {v[1].decode(): dict(fields(v[4])) for v in values}
                else:
                    scalars[event[2]] = {v[1].decode(): v[2] for v in values}
    return scalars, pictures


def check_pictures(run, pictures):
    """Every preview is in the events: height, width, channels and the bytes of the file."""
    previews = sorted(glob.glob(run + "/preview-*.png"))
    assert previews and len(pictures) == len(previews), (pictures.keys(), previews)
    for path in previews:
        png = open(path, "rb").read()
        found = pictures[int(path[-10:-4])]["preview"]
        assert found[4] == png, "another picture"
        width, height, _, colours = struct.unpack(">IIBB", png[16:26])
        assert (found[1], found[2], found[3]) == (height, width, {0: 1, 2: 3}[colours]), (found[1], found[2], found[3])


def check_folder(run):
    names = set(os.listdir(run))
    wanted = {"options.json", "version.txt", "log.txt", "stats.jsonl", "loss.svg", "state.safetensors",
              "weights.safetensors", "ema.safetensors", "preview-000004.png", "ema-000004.safetensors"}
    assert wanted <= names, wanted - names
    saved = json.loads(content(run, "options.json"))
    assert saved["width"] == 4 and saved["seed"] == 3 and saved["sigma-max"] == 3, saved
    assert "step 6: loss" in content(run, "log.txt").decode()
    lines = curve(run)
    assert [line["step"] for line in lines] == [3, 6, 8], lines
    for line in lines:
        assert len(line["loss_quarters"]) == 4
        assert abs(sum(line["loss_quarters"]) / 4 / line["loss"] - 1) < 1e-6  # batch 8: equal quarters
    events, pictures = read_events(run)
    check_pictures(run, pictures)
    assert sorted(events) == [3, 6, 8]
    for line in lines:
        got = events[line["step"]]
        for tag, value in (("loss/mean", line["loss"]), ("energy/data", line["energy_data"]),
                           ("train/lr", line["lr"])):
            assert abs(got[tag] - value) <= 1e-6 * abs(value), (tag, got[tag], value)


def expect(result, code, *words):
    assert result.returncode == code, (result.returncode, result.stdout, result.stderr)
    for word in words:
        assert word in result.stderr, (word, result.stderr)
    assert result.stderr.count("\n") <= 4, "more than a few lines when not on a terminal: " + result.stderr


def test_run_and_resume(folder, data):
    out = folder + "/runs"
    options = tiny_options(data, out, 8) + ["--preview-every", "4", "--snapshot-every", "4"]
    dry = mdsm(PROGRAM, "train", *options, "--dry-run")
    expect(dry, 0)
    assert '"width": 4' in dry.stdout and "parameters:" in dry.stdout and not os.path.exists(out), dry.stdout

    expect(mdsm(PROGRAM, "train", *options, "--stop-after", "5"), 0, "stopped after step 5 of 8", "--resume")
    run = the_run(out)
    expect(mdsm(PROGRAM, "train", "--resume", run), 0, "done: 8 steps")
    check_folder(run)
    weights = content(run, "weights.safetensors")

    expect(mdsm(PROGRAM, "train", "--resume", run), 0, "finished")
    expect(mdsm(PROGRAM, "train", "--resume", run, "--width", "8"), 2, "--width")
    expect(mdsm(PROGRAM, "train", "--resume", run, "--seed", "4"), 2, "--seed")
    expect(mdsm(PROGRAM, "train", "--resume", folder + "/none"), 1, "no such run folder")
    expect(mdsm(PROGRAM, "train", "--resume", folder), 1, "options.json")
    assert content(run, "weights.safetensors") == weights

    expect(mdsm(PROGRAM, "train", "--resume", run, "--steps", "10"), 0, "done: 10 steps")
    edited = json.loads(content(run, "options.json"))
    edited["seed"] = 7
    with open(run + "/options.json", "w") as f:
        json.dump(edited, f)
    expect(mdsm(PROGRAM, "train", "--resume", run, "--steps", "12"), 1, "the options differ")
    edited["seed"] = 3
    with open(run + "/options.json", "w") as f:
        json.dump(edited, f)
    write_images(data, count=65)
    expect(mdsm(PROGRAM, "train", "--resume", run, "--steps", "12"), 1, "65 images", "64")
    write_images(data)


def test_precision_is_recorded_and_may_change(folder, data):
    emulated = {**os.environ, "MDSM_TILES": "emulated"}  # the same numbers on any CPU

    def train(name, *arguments):
        expect(mdsm(PROGRAM, "train", *tiny_options(data, folder + name, 8), *arguments, env=emulated), 0)
        return the_run(folder + name)

    wide, narrow = train("/float32"), train("/bfloat16", "--precision", "bfloat16")
    switched = train("/switched-precision", "--stop-after", "4")
    expect(mdsm(PROGRAM, "train", "--resume", switched, "--precision", "bfloat16", env=emulated), 0, "done: 8 steps")
    assert json.loads(content(switched, "options.json"))["precision"] == "bfloat16"
    assert len({content(run, "weights.safetensors") for run in (wide, narrow, switched)}) == 3
    for one, other in zip(curve(wide), curve(narrow)):
        assert abs(one["loss"] / other["loss"] - 1) < 5e-3, (one, other)
    assert curve(switched)[0] == curve(wide)[0]
    assert b'\\"precision\\":\\"bfloat16\\"' in content(narrow, "ema.safetensors")
    assert b"bfloat16" not in content(wide, "ema.safetensors")
    version = mdsm(PROGRAM, "--version").stdout
    if "bfloat16 by AVX-512" in version:
        expect(mdsm(PROGRAM, "train", *tiny_options(data, folder + "/slower", 2), "--precision", "bfloat16"), 0,
               "bfloat16 without matrix units")
    if "bfloat16 by" not in version:
        expect(mdsm(PROGRAM, "train", *tiny_options(data, folder + "/refused", 8), "--precision", "bfloat16"), 2,
               "amx_bf16", "MDSM_TILES=emulated")


def test_exact_may_change(folder, data):
    def train(name, *arguments):
        expect(mdsm(PROGRAM, "train", *tiny_options(data, folder + name, 8), *arguments), 0)
        return the_run(folder + name)

    fast, exact, switched = train("/fast"), train("/exact", "--exact"), train("/switched", "--stop-after", "4")
    expect(mdsm(PROGRAM, "train", "--resume", switched, "--exact"), 0, "done: 8 steps")
    assert json.loads(content(switched, "options.json"))["exact"] is True
    # The two ways differ in the last digits only, and the switch takes place at the resume.
    weights = [content(run, "weights.safetensors") for run in (fast, exact, switched)]
    assert len(set(weights)) == 3
    for one, other in zip(curve(fast), curve(exact)):
        assert abs(one["loss"] / other["loss"] - 1) < 1e-4, (one, other)
    assert curve(switched)[0] == curve(fast)[0]
    expect(mdsm(PROGRAM, "train", "--resume", switched, "--steps", "9", "--no-exact"), 0, "done: 9 steps")
    expect(mdsm(PROGRAM, "train", "--resume", exact, "--steps", "9", "--engine", "torch"), 2, "--no-exact")


def test_objectives(folder, data):
    """Each objective from the outside: what is recorded, and a stop in the middle that changes nothing."""
    for name, arguments in (("single", ["--objective", "single", "--sigma", "0.6"]), ("weighted", ["--importance", "batch"]),
                            ("ml", ["--objective", "ml", "--ml-steps", "4", "--ml-buffer", "16"]),
                            ("ml_noise", ["--objective", "ml", "--ml-steps", "4", "--ml-chains", "noise"])):
        # The noise of the usual tiny run belongs to one objective only.
        usual = [word for word in tiny_options(data, folder + "/" + name, 8) if word not in ("--noise", "geometric")]
        whole = [word if word != folder + "/" + name else folder + "/whole_" + name for word in usual]
        expect(mdsm(PROGRAM, "train", *usual, *arguments, "--stop-after", "5"), 0, "stopped after step 5 of 8")
        run = the_run(folder + "/" + name)
        expect(mdsm(PROGRAM, "train", "--resume", run), 0, "done: 8 steps")
        expect(mdsm(PROGRAM, "train", *whole, *arguments), 0, "done: 8 steps")
        straight = the_run(folder + "/whole_" + name)
        assert content(run, "weights.safetensors") == content(straight, "weights.safetensors"), name
        assert curve(run) == curve(straight), name
        saved, last = json.loads(content(run, "options.json")), curve(run)[-1]
        if name == "single":
            assert saved["noise"] == "single" and saved["sigma0"] == 0.6 and saved["objective"] == "single", saved
            expect(mdsm(PROGRAM, "train", "--resume", run, "--steps", "9", "--ml-eps", "0.1"), 2, "--ml-eps")
        if name == "weighted":
            assert saved["importance"] == "batch" and 0 < last["importance_effective"] <= 1, last
            assert "% of images count" in content(run, "log.txt").decode()
            expect(mdsm(PROGRAM, "train", "--resume", run, "--importance", "none"), 2, "--importance")
        if name == "ml":
            assert last["loss_quarters"] == [None] * 4, last
            assert abs(last["loss_last"] - (last["energy_data"] - last["energy_noise"])) < 1e-5, last
            scalars, _ = read_events(run)
            assert "loss/quarter1" not in scalars[8] and "loss/mean" in scalars[8]
            expect(mdsm(PROGRAM, "train", "--resume", run, "--ml-chains", "noise"), 2, "--ml-chains")
            expect(mdsm(PROGRAM, "train", "--resume", run, "--steps", "9", "--ml-eps", "0.02"), 0, "done: 9 steps")


def test_run_from_before(folder, data):
    """A run whose program did not know the newer options yet. That such a program wrote the same fingerprint is
    what a unit test says, with one of its runs."""
    expect(mdsm(PROGRAM, "train", *tiny_options(data, folder + "/before", 8), "--bowl", "0", "--stop-after", "4"), 0)
    run = the_run(folder + "/before")
    options = json.loads(content(run, "options.json"))
    newer = ("objective", "importance", "bowl", "levels", "blocks", "activation", "weighting", "init",
             "precision", "shards", "skip-damaged", "denoiser-steps", "lr-hold", "allow-reorder", "overlap", "shift", "zoom",
             "rotate", "brightness", "recipe", "optimizer", "sampling", "weight-decay")
    options["outdir"] = options.pop("out")
    for name in [name for name in options if name.startswith("ml-") or name in newer]:
        del options[name]
    assert len(options) == 40, sorted(options)
    with open(run + "/options.json", "w") as f:
        json.dump(options, f)
    expect(mdsm(PROGRAM, "train", "--resume", run, "--objective", "ml"), 2, "--objective", '"mdsm"')
    expect(mdsm(PROGRAM, "train", "--resume", run, "--stop-after", "1"), 0, "stopped after step 5")
    now = json.loads(content(run, "options.json"))
    assert now["objective"] == "mdsm" and now["shards"] == 1, now
    expect(mdsm(PROGRAM, "train", "--resume", run), 0, "done: 8 steps")


def test_config_file(folder, data):
    path = folder + "/run.toml"
    with open(path, "w") as f:
        f.write(f'data = "{data}"\nnet = "res6"\nwidth = 8\n[noise]\nsigma-max = 1.5\n')
    result = mdsm(PROGRAM, "train", "--config", path, "--set", "batch=4", "--width", "4", "--dry-run")
    expect(result, 0)
    for text in ('"width": 4', '"batch": 4', '"sigma-max": 1.5'):
        assert text in result.stdout, (text, result.stdout)
    expect(mdsm(PROGRAM, "train", "--dry-run"), 2, "--data is missing")
    expect(mdsm(PROGRAM, "train", "--data", data, "--net", "res12", "--pad", "36", "--dry-run"), 2, "--resize 32")


def test_shipped_configs(folder, data):
    configs = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "configs")
    paths = glob.glob(configs + "/*.toml") + glob.glob(configs + "/quick/*.toml")
    assert len(paths) >= 7, paths
    for path in paths:
        # The data's place is the user's; the tiny images stand in for it, without the fitting it asks for.
        result = mdsm(PROGRAM, "train", "--config", path, "--data", data, "--crop", "0", "--resize", "0", "--dry-run")
        expect(result, 0)
        with open(path) as file:
            has_bowl = "bowl = 1" in file.read()
        assert ('"bowl": 1.0' in result.stdout) == has_bowl, (path, result.stdout)


def wait_for(path, process):
    for _ in range(600):
        if os.path.exists(path) and os.path.getsize(path) > 0:
            return
        assert process.poll() is None, process.stderr.read()
        time.sleep(0.05)
    raise AssertionError(path + " does not appear")


def test_signals_and_lock(folder, data):
    for number in (signal.SIGINT, signal.SIGTERM):
        out = f"{folder}/signal{number}"
        process = subprocess.Popen([PROGRAM, "train", *tiny_options(data, out, 100000)], stderr=subprocess.PIPE,
                                   text=True)
        while the_run(out) is None:
            assert process.poll() is None, process.stderr.read()
            time.sleep(0.02)
        run = the_run(out)
        wait_for(run + "/stats.jsonl", process)
        expect(mdsm(PROGRAM, "train", "--resume", run), 1, "another process")
        process.send_signal(number)
        message = process.communicate(timeout=60)[1]
        assert process.returncode == 0 and "stopped after step" in message and "--resume " + run in message, message
        expect(mdsm(PROGRAM, "train", "--resume", run, "--stop-after", "1"), 0, "stopped after step")


def test_full_disk(folder, data):
    disk = folder + "/disk"
    os.mkdir(disk)
    if subprocess.run(["mount", "-t", "tmpfs", "-o", "size=400k", "tmpfs", disk], stderr=subprocess.DEVNULL).returncode:
        print("not root: the full disk is left to the unit test with a file size limit")
        return
    try:
        # 11,435 parameters: state and models are 0.27 MB, every snapshot 0.05 MB more, so the disk fills up.
        expect(mdsm(PROGRAM, "train", *tiny_options(data, disk, 8), "--snapshot-every", "2"), 1, "No space left")
        run = the_run(disk)
        assert not [name for name in os.listdir(run) if ".tmp" in name], os.listdir(run)
        subprocess.run(["mount", "-o", "remount,size=16m", disk], check=True)
        expect(mdsm(PROGRAM, "train", "--resume", run), 0, "done: 8 steps")
        whole = folder + "/whole"
        expect(mdsm(PROGRAM, "train", *tiny_options(data, whole, 8), "--snapshot-every", "2"), 0)
        assert content(run, "weights.safetensors") == content(the_run(whole), "weights.safetensors")
        assert curve(run) == curve(the_run(whole))
    finally:
        subprocess.run(["umount", disk], check=True)


with tempfile.TemporaryDirectory() as temporary:
    images = temporary + "/images.npy"
    write_images(images)
    for test in (test_run_and_resume, test_precision_is_recorded_and_may_change, test_exact_may_change, test_objectives,
                 test_run_from_before, test_config_file, test_shipped_configs, test_signals_and_lock, test_full_disk):
        begin = time.time()
        test(temporary, images)
        print(f"{test.__name__}: {time.time() - begin:.1f} s")
