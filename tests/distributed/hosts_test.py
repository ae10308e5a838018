"""Several hosts, as network namespaces (hosts.py). Training and sampling
across two and four of them have the bits of one process; one that is cut off (link down) is named by the others, and the
run goes on when the link is back. Needs root and iproute2; skipped without."""
import os
import shutil
import subprocess
import sys
import tempfile
import time

from hosts import Hosts
from ranks import ENVIRONMENT, MDSM, SKIPPED, finish, run_alone, skip_without_module, torchrun, wait_for_lines
from run_tools import content, curve, the_run, tiny_options, write_images

def options(folder, name, steps=30):
    return ["train", *tiny_options(os.path.join(folder, "images.npy"), os.path.join(folder, name), steps), "--shards", "4"]


def sampling(folder, name):
    return ["sample", "--model", "fashion-mnist", "-n", "8", "--sampler", "multistep", "--threads", "1", "--out",
            os.path.join(folder, name)]


def check_same(folder, name, what):
    a, b = the_run(os.path.join(folder, "one")), the_run(os.path.join(folder, name))
    for file in ("weights.safetensors", "ema.safetensors"):
        assert content(a, file) == content(b, file), f"{what}: {file} differs"
    assert curve(a) == curve(b), f"{what}: stats.jsonl differs"


def check_cut(folder, hosts, name):
    """The last host loses its link in the middle of a run."""
    last = len(hosts.names) - 1
    processes = hosts.start(options(folder, name, 1000000), MDSM_PEER_TIMEOUT=3)
    wait_for_lines(os.path.join(folder, name), 2)
    begin = time.time()
    hosts.link(last, "down")
    found = finish(processes, 60)
    seconds = time.time() - begin
    for rank, (code, _, err) in enumerate(found):
        assert code == 1, (rank, code, err)
        wanted = "rank 0 at 10.77.0.1" if rank == last else f"rank {last} has shown no sign of life"
        assert wanted in err, f"rank {rank} of {last + 1}: {err}"
    hosts.link(last, "up")
    print(f"{last + 1} hosts, link cut: all ended after {seconds:.1f} s: {found[0][2].splitlines()[-1]}")
    run = the_run(os.path.join(folder, name))
    hosts.run(["train", "--resume", run, "--steps", "1000000", "--stop-after", "2"])
    with open(os.path.join(run, "log.txt")) as log:
        assert "going on after step" in log.read()


def check_torchrun(folder, hosts):
    """Host names are addresses here, because torchrun tells workers the name of the first host."""
    agents = []
    for k in range(2):
        call = [*torchrun(), "--nnodes=2", "--nproc_per_node=1", "--rdzv_backend=c10d", "--rdzv_id=test",
                f"--rdzv_endpoint={hosts.address(0)}:29500", MDSM, *options(folder, "torchrun")]
        agents.append(subprocess.Popen([*hosts.inside(k), "unshare", "--uts", "sh", "-c", 'hostname "$0"; exec "$@"',
                                        hosts.address(k), *call], env=ENVIRONMENT, stdin=subprocess.DEVNULL,
                                       stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True))
    for code, _, err in finish(agents):
        assert code == 0, err
    check_same(folder, "torchrun", "torchrun on 2 hosts")


def main():
    skip_without_module()
    if os.geteuid() != 0 or not shutil.which("ip"):
        print("network namespaces need root and iproute2: nothing to test")
        sys.exit(SKIPPED)
    try:
        with Hosts(1):
            pass
    except subprocess.CalledProcessError as error:
        print(f"no network namespaces here: {error.stderr}")
        sys.exit(SKIPPED)
    with tempfile.TemporaryDirectory() as folder:
        write_images(os.path.join(folder, "images.npy"))
        run_alone(options(folder, "one"))
        run_alone(sampling(folder, "samples"))
        for count in (2, 4):
            with Hosts(count) as hosts:
                hosts.run(options(folder, f"hosts{count}"))
                check_same(folder, f"hosts{count}", f"{count} hosts")
                hosts.run(sampling(folder, f"samples{count}"))
                for file in ("samples.npy", "samples.json", "grid.png"):
                    assert content(os.path.join(folder, "samples"), file) == content(os.path.join(folder, f"samples{count}"), file)
                check_cut(folder, hosts, f"cut{count}")
                if count == 2 and torchrun():
                    check_torchrun(folder, hosts)
        print("2 and 4 hosts: the same bits as one process")


main()
