"""Hosts on one machine: network namespaces with veth pairs to a bridge, made and removed here."""
import json
import os
import subprocess

from ranks import finish, start, variables

PORT = 29700  # each host has all ports to itself


def ip(*words, check=True):
    return subprocess.run(["ip", *words], check=check, stderr=subprocess.PIPE, text=True)


class Hosts:
    """10.77.0.1, 10.77.0.2, ..., and a bridge in a namespace of its own, so that nothing outside changes."""

    def __init__(self, count):
        self.names = [f"mdsm{os.getpid()}h{k}" for k in range(count)]
        self.switch = f"mdsm{os.getpid()}s"

    def __enter__(self):
        ip("netns", "add", self.switch)
        ip("-n", self.switch, "link", "add", "bridge", "type", "bridge")
        ip("-n", self.switch, "link", "set", "bridge", "up")
        for k, name in enumerate(self.names):
            ip("netns", "add", name)
            ip("-n", name, "link", "add", "eth0", "type", "veth", "peer", "name", f"port{k}", "netns", self.switch)
            ip("-n", self.switch, "link", "set", f"port{k}", "master", "bridge", "up")
            ip("-n", name, "address", "add", f"{self.address(k)}/24", "dev", "eth0")
            for link in ("lo", "eth0"):
                ip("-n", name, "link", "set", link, "up")
        return self

    def __exit__(self, *_):
        for name in [*self.names, self.switch]:
            ip("netns", "delete", name, check=False)

    @staticmethod
    def address(host):
        return f"10.77.0.{host + 1}"

    def link(self, host, state):
        ip("-n", self.switch, "link", "set", f"port{host}", state)

    def shape(self, rate):
        """What each host sends, at most so fast (as in 1gbit)."""
        for name in self.names:
            subprocess.run(["tc", "-n", name, "qdisc", "add", "dev", "eth0", "root", "tbf", "rate", rate, "burst", "256kb", "latency", "50ms"],
                           check=True)

    def sent(self, host):
        """Bytes that the host has sent since it is there, with all headers."""
        found = subprocess.run(["ip", "-n", self.names[host], "-s", "-j", "link", "show", "dev", "eth0"], check=True,
                               stdout=subprocess.PIPE, text=True)
        return json.loads(found.stdout)[0]["stats64"]["tx"]["bytes"]

    def inside(self, host):
        return ["ip", "netns", "exec", self.names[host]]

    def start(self, arguments, **more):
        size = len(self.names)
        return [start(arguments, {**variables(k, size, PORT, **more), "MASTER_ADDR": self.address(0)}, self.inside(k))
                for k in range(size)]

    def run(self, arguments):
        for rank, (code, _, err) in enumerate(finish(self.start(arguments))):
            assert code == 0, f"host {rank}: {err}"
