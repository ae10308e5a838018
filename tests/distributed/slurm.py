"""A Slurm of one node in a folder of its own, with its own munge: started and ended here, nothing outside is touched. Needs
root, munge and slurm-wlm."""
import os
import shutil
import socket
import subprocess
import time

from ranks import free_port

PROGRAMS = ("munged", "slurmctld", "slurmd", "srun")


def missing():
    """What keeps it from being started here; empty where nothing does."""
    if os.geteuid() != 0:
        return "Slurm needs root here"
    absent = [name for name in PROGRAMS if not shutil.which(name)]
    return f"not installed: {', '.join(absent)}" if absent else ""


class Slurm:
    def __init__(self, folder):
        self.folder, self.processes = folder, []
        self.environment = {**os.environ, "SLURM_CONF": self.at("slurm.conf")}

    def at(self, name):
        return os.path.join(self.folder, name)

    def configure(self):
        host = socket.gethostname().split(".")[0]
        with open(self.at("munge.key"), "wb") as file:
            file.write(os.urandom(128))
        os.chmod(self.at("munge.key"), 0o600)
        for name in ("state", "spool"):
            os.mkdir(self.at(name))
        lines = ["ClusterName=test", f"SlurmctldHost={host}(127.0.0.1)", "AuthType=auth/munge", f"AuthInfo=socket={self.at('munge.socket')}",
                 "SlurmUser=root", f"StateSaveLocation={self.at('state')}", f"SlurmdSpoolDir={self.at('spool')}",
                 f"SlurmctldPidFile={self.at('slurmctld.pid')}", f"SlurmdPidFile={self.at('slurmd.pid')}", f"SlurmctldPort={free_port()}",
                 f"SlurmdPort={free_port()}", "ProctrackType=proctrack/linuxproc", "TaskPlugin=task/none", "SwitchType=switch/none",
                 "MpiDefault=none", "ReturnToService=2", "SlurmdParameters=config_overrides", "JobAcctGatherType=jobacct_gather/none",
                 f"NodeName={host} NodeAddr=127.0.0.1 CPUs=4 State=UNKNOWN", "PartitionName=all Nodes=ALL Default=YES MaxTime=INFINITE State=UP"]
        with open(self.at("slurm.conf"), "w") as file:
            file.write("\n".join(lines) + "\n")

    def start(self, *words):
        log = open(self.at(os.path.basename(words[0]) + ".out"), "wb")
        self.processes.append(subprocess.Popen(words, env=self.environment, stdin=subprocess.DEVNULL, stdout=log, stderr=log))

    def __enter__(self):
        os.chmod(self.folder, 0o755)  # munge's socket is for everybody
        self.configure()
        self.start("munged", "--foreground", "--force", f"--key-file={self.at('munge.key')}", f"--socket={self.at('munge.socket')}",
                   f"--pid-file={self.at('munge.pid')}", f"--log-file={self.at('munge.log')}", f"--seed-file={self.at('munge.seed')}")
        self.start("slurmctld", "-D")
        self.start("slurmd", "-D")
        end = time.time() + 60
        while not self.idle():
            if time.time() > end or any(process.poll() is not None for process in self.processes):
                said = self.said()
                self.__exit__()
                raise RuntimeError(f"Slurm does not start here:\n{said}")
            time.sleep(0.5)
        return self

    def idle(self):
        found = subprocess.run(["sinfo", "-h", "-o", "%T"], env=self.environment, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
        return found.stdout.strip() == "idle"

    def said(self):
        text = ""
        for name in ("munged", "slurmctld", "slurmd"):
            if os.path.exists(self.at(name + ".out")):
                with open(self.at(name + ".out"), errors="replace") as file:
                    text += f"--- {name}\n" + "".join(file.readlines()[-8:])
        return text

    def __exit__(self, *_):
        for process in reversed(self.processes):
            process.terminate()
        for process in self.processes:
            try:
                process.wait(10)
            except subprocess.TimeoutExpired:
                process.kill()
