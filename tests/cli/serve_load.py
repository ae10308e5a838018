"""What scripts/serve_load does."""
import re
import subprocess
import sys
import time

from serve_tools import Server

SECONDS = int(sys.argv[2])


def memory(server):
    with open(f"/proc/{server.process.pid}/status", encoding="utf-8") as file:
        return int(re.search(r"VmRSS:\s*(\d+)", file.read())[1]) / 1024


def wrk(server, seconds):
    return subprocess.Popen(["wrk", "-t2", "-c200", f"-d{seconds}s", "--latency", f"http://127.0.0.1:{server.port}/api/jobs"],
                            stdout=subprocess.PIPE, text=True)


with Server() as server:
    wrk(server, 5).communicate()
    before = memory(server)
    load = wrk(server, SECONDS)
    time.sleep(2)
    start = time.time()
    jobs = [server.job("sample", model="fashion-mnist", seeds=str(seed), sampler="fast", steps=20) for seed in range(5)]
    first = next(time.time() for name, _ in server.events(f"/api/jobs/{jobs[-1]['id']}/events") if name == "live")
    ends = [server.wait(job, seconds=SECONDS + 300)["state"] for job in jobs]
    figures = load.communicate()[0]
    time.sleep(6)
    print(figures.strip())
    print(f"first image of the fifth job in the queue: {first - start:.1f} s after it was sent")
    print(f"jobs: {', '.join(ends)}")
    print(f"memory of the server: {before:.1f} MB before, {memory(server):.1f} MB after")
    bad = ends != ["done"] * 5 or re.search("Non-2xx|Socket errors", figures)
    sys.exit(1 if bad else 0)
