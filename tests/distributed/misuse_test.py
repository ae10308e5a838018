"""Wrong ways to start several processes: one clear line each, an exit code that is not 0, and nothing left behind.

    misuse_test.py MDSM
"""
import json
import os
import shutil
import socket
import subprocess
import tempfile

from ranks import ENVIRONMENT, MDSM, finish, free_port, skip_without_module, start, start_ranks, variables
from run_tools import tiny_options, write_images

TOGETHER = {"RANK": "0", "WORLD_SIZE": "2", "MASTER_ADDR": "127.0.0.1", "MASTER_PORT": "29999"}

# Variables (None: unset), arguments, exit code, what it says. None of these gets as far as loading LibTorch.
VARIABLES = [
    ({"WORLD_SIZE": "0"}, ["models"], 2, "WORLD_SIZE='0' makes no sense"),
    ({"WORLD_SIZE": "-2"}, ["models"], 2, "WORLD_SIZE='-2' makes no sense"),
    ({"WORLD_SIZE": "two"}, ["models"], 2, "WORLD_SIZE='two' makes no sense"),
    ({"WORLD_SIZE": "99999999"}, ["models"], 2, "WORLD_SIZE='99999999' makes no sense"),
    ({"WORLD_SIZE": None}, ["models"], 2, "WORLD_SIZE is not set"),
    ({"RANK": None}, ["models"], 2, "RANK is not set"),
    ({"RANK": "2"}, ["models"], 2, "RANK='2' makes no sense"),
    ({"RANK": "-1"}, ["models"], 2, "RANK='-1' makes no sense"),
    ({"RANK": "0x1"}, ["models"], 2, "RANK='0x1' makes no sense"),
    ({"LOCAL_RANK": "first"}, ["models"], 2, "LOCAL_RANK='first' makes no sense"),
    ({"MASTER_ADDR": None}, ["models"], 2, "MASTER_ADDR is not set"),
    ({"MASTER_PORT": "0"}, ["models"], 2, "MASTER_PORT='0' makes no sense"),
    ({"MASTER_PORT": "70000"}, ["models"], 2, "MASTER_PORT='70000' makes no sense"),
    ({"MASTER_PORT": "http"}, ["models"], 2, "MASTER_PORT='http' makes no sense"),
    ({"TORCHELASTIC_RESTART_COUNT": "x"}, ["models"], 2, "TORCHELASTIC_RESTART_COUNT='x' makes no sense"),
    ({"MDSM_PEER_TIMEOUT": "soon"}, ["models"], 2, "MDSM_PEER_TIMEOUT='soon' makes no sense"),
    ({"MDSM_JOIN_TIMEOUT": "0"}, ["models"], 2, "MDSM_JOIN_TIMEOUT='0' makes no sense"),
    ({"RANK": None, "WORLD_SIZE": None, "MASTER_ADDR": None, "OMPI_COMM_WORLD_RANK": "0", "OMPI_COMM_WORLD_SIZE": "2",
      "OMPI_COMM_WORLD_LOCAL_SIZE": "1"}, ["models"], 2, "MASTER_ADDR is not set"),
    ({"RANK": None, "WORLD_SIZE": None, "SLURM_PROCID": "x", "SLURM_STEP_NUM_TASKS": "2"}, ["models"], 2,
     "SLURM_PROCID='x' makes no sense"),
    ({}, ["models"], 2, "mdsm models is for one process, and 2 were started"),
    ({}, ["describe", "--net", "res6"], 2, "mdsm describe is for one process"),
    ({}, ["data", "fashion-mnist"], 2, "mdsm data is for one process"),
    ({"MDSM_TORCH_MODULE": "/no/such/module.so"}, ["train"], 1, "/no/such/module.so"),
    ({"MDSM_TORCH_MODULE": "/etc/hostname"}, ["train"], 1, "cannot load /etc/hostname"),
]


def check_line(err, text, row):
    lines = [line for line in err.splitlines() if line]
    assert len(lines) == 1 and lines[0].startswith("mdsm: error: ") and text in lines[0], f"{row}: {err!r}, not {text!r}"


def check_variables():
    for changes, arguments, code, text in VARIABLES:
        environment = {**ENVIRONMENT, **TOGETHER}
        for name, value in changes.items():
            environment.pop(name, None)
            if value is not None:
                environment[name] = value
        got, _, err = finish([start(arguments, environment)])[0]
        assert got == code, f"{changes} {arguments}: {got}, {err}"
        check_line(err, text, changes)
    return len(VARIABLES)


class Joint:
    """Processes that meet, and then do not get on."""

    def __init__(self, folder):
        self.folder, self.rows = folder, 0
        self.data = os.path.join(folder, "images.npy")
        write_images(self.data)

    def options(self, *more, data=None, shards=4):
        return ["train", *tiny_options(data or self.data, os.path.join(self.folder, "runs"), 4), "--shards", shards, *more]

    def check(self, processes, expected, what):
        """expected: for each process (exit code, text), or one for all."""
        found = finish(processes, 60)
        expected = expected if isinstance(expected, list) else [expected] * len(found)
        for rank, ((code, _, err), (wanted, text)) in enumerate(zip(found, expected)):
            assert code == wanted, f"{what}, rank {rank}: {code}, not {wanted}: {err}"
            check_line(err, text, f"{what}, rank {rank}")
        assert not os.path.exists(os.path.join(self.folder, "runs")), f"{what}: something is left behind"
        self.rows += 1

    def all_rows(self):
        own = self.options
        self.check(start_ranks(2, own(), own={1: own("--width", "8")}), (2, "rank 1 has another option --width: 8, rank 0 has 4"),
                   "other options")
        other = os.path.join(self.folder, "other.npy")
        write_images(other, seed=1)
        same_name = os.path.join(self.folder, "elsewhere", "images.npy")
        os.mkdir(os.path.dirname(same_name))
        shutil.copy(other, same_name)
        port = free_port()
        self.other_folder(own(data="images.npy"))
        self.check(start_ranks(2, own(shards=1)), (2, "2 processes cannot share a batch of 1 shard"), "more processes than shards")
        self.check(start_ranks(2, own(), own={1: own(data="/no/such/data.npy")}),
                   [(1, "rank 1 failed: /no/such/data.npy"), (1, "(rank 1) /no/such/data.npy")], "data that one rank does not have")
        self.check(start_ranks(2, ["train", "--resume", "/no/such/run"]),
                   [(1, "/no/such/run: no such run folder"), (1, "(rank 1) rank 0 failed: /no/such/run")], "no such run")
        self.check([start(own(), variables(rank, 2, port, MDSM_ISA=isa)) for rank, isa in ((0, "generic"), (1, "avx2"))],
                   (2, "rank 1 has another native engine"), "other kernels") if self.has_avx2() else None
        self.check([start(own(), variables(0, 2, port, MDSM_JOIN_TIMEOUT=2))], (2, "rank 1 of 2 did not come within 2 s"), "rank missing")
        self.check([start(own(), variables(1, 2, port, MDSM_JOIN_TIMEOUT=2))],
                   (1, f"rank 0 cannot be reached at 127.0.0.1:{port} within 2 s"), "rank 0 missing")
        self.check([start(own(), {**variables(1, 2, port, MDSM_JOIN_TIMEOUT=2), "MASTER_ADDR": "no.such.host.invalid"})],
                   (1, "rank 0 cannot be reached at no.such.host.invalid"), "no such host")
        self.check([start(own(), variables(0, 2, port)), start(own(), variables(1, 3, port))],
                   [(2, 'rank 1 has processes 3, rank 0 has 2'), (2, "rank 1 was started as one of 3 processes, rank 0 as one of 2")],
                   "other numbers of processes")
        self.twice(port)
        self.port_in_use()
        self.older_version(port)

    def has_avx2(self):
        with open("/proc/cpuinfo") as file:
            return " avx2 " in file.read()

    def other_folder(self, arguments):
        """Each rank in a folder of its own, as on two hosts."""
        port = free_port()
        places = [self.folder, os.path.join(self.folder, "elsewhere")]
        processes = [subprocess.Popen([MDSM, *map(str, arguments)], cwd=places[rank], env=variables(rank, 2, port), text=True,
                                      stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE) for rank in range(2)]
        self.check(processes, (2, "rank 1 has another fingerprint of the data"), "other data under the same name")

    def twice(self, port):
        first = start(self.options(), variables(0, 3, port, MDSM_JOIN_TIMEOUT=8))
        ones = [start(self.options(), variables(1, 3, port, MDSM_JOIN_TIMEOUT=8)) for _ in range(2)]
        found = finish([first, *ones], 60)
        said = sorted(err for _, _, err in found[1:])
        assert any("rank 1 is there twice" in err for err in said), said
        assert found[0][0] == 2 and "rank 2 of 3 did not come" in found[0][2], found[0]
        self.rows += 1

    def port_in_use(self):
        with socket.socket() as taken:
            taken.bind(("0.0.0.0", 0))
            taken.listen()
            port = taken.getsockname()[1]
            self.check([start(self.options(), variables(0, 2, port, MDSM_JOIN_TIMEOUT=3))], (1, f"port {port} cannot be opened"),
                       "port in use")

    def older_version(self, port):
        """Another program in the place of rank 1, which comes as an earlier version would."""
        code = f"""
import json, torch, torch.distributed as d
plain = {{"use_libuv": False}} if torch.__version__ >= "2" else {{}}  # which Debian 13 has not
store = d.PrefixStore("mdsm/", d.TCPStore("127.0.0.1", {port}, is_master=False, **plain))
store.add("count/1", 1); store.set("alive/1", "0")
store.set("here/1", json.dumps({{"version": "mdsm 0.0.9", "processes": 2, "address": "127.0.0.1"}}))
print(store.get("all_here").decode()); store.add("verdict_read", 1)
"""
        python = shutil.which("python3", path="/usr/bin")
        if not python or subprocess.run([python, "-c", "import torch"], stderr=subprocess.DEVNULL).returncode:
            print("no PyTorch for Python here: the row of the older version is left out")
            return
        process = start(self.options(), variables(0, 2, port))
        told = subprocess.run([python, "-c", code], stdout=subprocess.PIPE, text=True, timeout=60)
        self.check([process], (2, 'rank 1 has version "mdsm 0.0.9", rank 0 has "mdsm '), "older version")
        assert "mdsm 0.0.9" in json.loads(told.stdout)["wrong"]


def main():
    rows = check_variables()
    skip_without_module()
    with tempfile.TemporaryDirectory() as folder:
        joint = Joint(folder)
        joint.all_rows()
        print(f"{rows + joint.rows} wrong ways to start several processes, each with its line")


main()
