"""A worker that is killed, stopped, or fails ends all others within seconds, with a line that names it."""
import contextlib
import os
import signal
import socket
import struct
import sys
import tempfile
import time

from ranks import (finish, free_port, run_ranks, skip_without_module, start, start_ranks, torchrun, variables, wait_for,
                   wait_for_lines)
from run_tools import the_run, tiny_options, write_images

SIZE = 3
SECONDS = 30  # for all to end, on a machine that does other things as well; alone it is a few


def options(folder, name, steps):
    return ["train", *tiny_options(os.path.join(folder, "images.npy"), os.path.join(folder, name), steps), "--shards", "4"]


def running(folder, name, **more):
    processes = start_ranks(SIZE, options(folder, name, 1000000), **more)
    wait_for_lines(os.path.join(folder, name), 2)
    return processes


def others_end(processes, victim, codes=(1,)):
    """What the others say; they end by themselves."""
    begin = time.time()
    found = finish([process for rank, process in enumerate(processes) if rank != victim], SECONDS)
    seconds = time.time() - begin
    for code, _, err in found:
        assert code in codes, (code, err)
        assert err.count("error: ") == 1, err
    return [err for _, _, err in found], seconds


def check_kill(folder, victim):
    processes = running(folder, f"killed{victim}")
    processes[victim].send_signal(signal.SIGKILL)
    said, seconds = others_end(processes, victim)
    processes[victim].communicate()
    names = [f"rank {victim} is gone" in err or f"rank {victim} at " in err for err in said]
    # Rank 0 may have ended by then: who learns of that first names it, and says where to look.
    first = ["rank 0" in err and "look at what that rank says itself" in err for err in said]
    assert any(names) and all(a or b for a, b in zip(names, first)), f"rank {victim} was killed: {said}"
    print(f"rank {victim} killed: the others ended after {seconds:.1f} s: {said[-1].splitlines()[-1]}")


def check_stop(folder, victim):
    processes = running(folder, f"stopped{victim}", MDSM_PEER_TIMEOUT=3)
    processes[victim].send_signal(signal.SIGSTOP)
    said, seconds = others_end(processes, victim)
    processes[victim].send_signal(signal.SIGCONT)
    code, _, err = finish([processes[victim]], SECONDS)[0]
    assert code == 1 and "error: " in err, (code, err)
    for text in said:
        assert f"rank {victim} has shown no sign of life for 3 s" in text or f"rank {victim} at 127.0.0.1" in text, text
    print(f"rank {victim} stopped: the others ended after {seconds:.1f} s: {said[-1].splitlines()[-1]}")


def check_slow_reader(folder):
    """A rank that is held up when the others learn why the job is over learns it too: rank 0 does not end before."""
    processes = start_ranks(4, options(folder, "slow", 1000000), MDSM_PEER_TIMEOUT=6)
    wait_for_lines(os.path.join(folder, "slow"), 2)
    processes[3].send_signal(signal.SIGSTOP)
    time.sleep(5.5)
    processes[1].send_signal(signal.SIGSTOP)
    time.sleep(2.5)
    processes[1].send_signal(signal.SIGCONT)
    said, _ = others_end(processes, 3)
    processes[3].kill()
    processes[3].communicate()
    assert all("rank 3 has shown no sign of life" in text for text in said), said


def check_terminated(folder):
    """One SIGTERM asks all to stop after the same step, with all saved."""
    processes = running(folder, "terminated")
    processes[1].send_signal(signal.SIGTERM)
    for code, _, err in finish(processes, SECONDS):
        assert code == 0, err
    run = the_run(os.path.join(folder, "terminated"))
    with open(os.path.join(run, "log.txt")) as log:
        assert "all is saved" in log.read()
    run_ranks(2, ["train", "--resume", run, "--stop-after", "1"])


def place_folder(path):
    """In the place of a file that the program writes now and then."""
    def placed():
        try:
            os.remove(path)
            os.mkdir(path)
        except OSError:
            return False
        return True

    wait_for(placed, 60, "a second checkpoint")


def check_full_disk(folder):
    """What rank 0 cannot write is everybody's error."""
    processes = running(folder, "full")
    run = the_run(os.path.join(folder, "full"))
    place_folder(os.path.join(run, "state-earlier.safetensors"))  # a rename onto it fails
    said = [err for _, _, err in finish(processes, SECONDS)]
    assert "state-earlier.safetensors: cannot be written" in said[0], said[0]
    for err in said[1:]:
        assert "rank 0 failed: " in err and "state-earlier.safetensors: cannot be written" in err, err


# Comes as rank 1 would, and never connects.
RANK_1 = """
import sys
from torch.distributed import PrefixStore, TCPStore
try:
    tcp = TCPStore("127.0.0.1", int(sys.argv[1]), is_master=False, use_libuv=False)  # Debian's has no libuv
except TypeError:  # PyTorch 1 does not know it
    tcp = TCPStore("127.0.0.1", int(sys.argv[1]), is_master=False)
store = PrefixStore("mdsm/", tcp)
store.add("count/1", 1)
store.set("alive/1", "0")
store.set("here/1", store.get("here/0"))
"""


def listening(process):
    """Ports."""
    folder = f"/proc/{process}/fd"
    own = set()
    for name in os.listdir(folder):
        with contextlib.suppress(FileNotFoundError):  # closed in the meantime
            own.add(os.readlink(os.path.join(folder, name)))
    rows = []
    for table in ("tcp", "tcp6"):
        with open(f"/proc/net/{table}") as file:
            rows += [line.split() for line in file][1:]
    return {int(row[1].split(":")[1], 16) for row in rows if row[3] == "0A" and f"socket:[{row[9]}]" in own}


def check_reset(folder):
    """A peer that dies between its connecting and our accepting: Gloo's thread throws then, with nobody to catch."""
    if not torchrun():
        return print("no PyTorch here: nothing comes in the place of rank 1")
    port = free_port()
    process = start(options(folder, "reset", 2), variables(0, 2, port, MDSM_JOIN_TIMEOUT=60))
    other = start(["-c", RANK_1, port], variables(1, 2, port), program=sys.executable)
    ports = wait_for(lambda: listening(process.pid) - {port}, 60, "a port of Gloo's")
    process.send_signal(signal.SIGSTOP)
    for one in ports:
        with socket.create_connection(("127.0.0.1", one)) as caller:
            caller.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))  # close() is a reset
    process.send_signal(signal.SIGCONT)
    code, _, err = finish([process], 100)[0]
    assert finish([other])[0][0] == 0
    assert code == 1 and err.count("error: ") == 1, (code, err)
    print(f"a connection reset at the start: {err.strip()}")


def main():
    skip_without_module()
    with tempfile.TemporaryDirectory() as folder:
        write_images(os.path.join(folder, "images.npy"))
        check_reset(folder)
        check_kill(folder, 1)
        check_kill(folder, 0)
        check_stop(folder, 2)
        check_stop(folder, 0)
        check_slow_reader(folder)
        check_terminated(folder)
        check_full_disk(folder)


main()
