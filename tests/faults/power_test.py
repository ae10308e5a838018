"""The power fails: of what was written since a file or folder was last synced, any part may be missing, and renames that no
folder's sync has followed may have happened or not, in any order. From every such state the command goes on to the same bits,
and a state that was reported saved is there.

    power_test.py MDSM LIBRARY [LOSSES] [SEED]"""
import os
import random
import shutil
import sys

from jobs import call, calls_in, content, for_each_job, with_faults

LOSSES = int(sys.argv[3]) if len(sys.argv) > 3 else 8
SEED = int(sys.argv[4]) if len(sys.argv) > 4 else 1


def lasting(path):
    """What a command goes on from: not the files that are made anew from it, nor the spare copy of a state."""
    return path.endswith(".safetensors") and not path.endswith("state-earlier.safetensors")


class Promises:
    """What must be there whenever the power fails. A command that begins the next state or part has told its user that the one
    before is saved; this looks at nothing but what it creates, renames and removes, so that a sync left out is seen."""

    def __init__(self):
        self.fresh, self.kept = {}, {}  # path -> file, whole but not yet told of; path -> files, any of which will do

    def take(self, call, path, other, disk):
        if call == "create" and lasting(path.split(".tmp")[0]):
            self.kept.update((name, [file]) for name, file in self.fresh.items())
            self.fresh.clear()
        elif call in ("rename", "link") and lasting(other):
            if call == "rename":
                self.fresh.pop(path, None)
                self.kept.pop(path, None)
            self.fresh[other] = disk.live[other]
            if other in self.kept:
                self.kept[other].append(disk.live[other])
        elif call == "unlink":
            self.fresh.pop(path, None)
            self.kept.pop(path, None)

    def broken(self, files, disk):
        return [path for path, any_of in self.kept.items()
                if files.get(path) not in [disk.synced[file] for file in any_of if file in disk.synced]]


class Disk:
    """What of a folder is on the disk for certain, and what is only on its way."""

    def __init__(self):
        self.names, self.pending = {}, []  # path -> file, as synced; changes of names since
        self.live, self.synced, self.files = {}, {}, 0  # path -> file; file -> content

    def take(self, number, call, path, other, store):
        if call == "create" and path not in self.live:
            self.files += 1
            self.live[path] = self.files
            self.pending.append((path, self.files))
        elif call in ("rename", "link") and path in self.live:
            self.live[other] = self.live[path]
            self.pending.append((other, self.live[path]))
            if call == "rename":
                del self.live[path]
                self.pending.append((path, None))
        elif call == "unlink":
            self.live.pop(path, None)
            self.pending.append((path, None))
        elif call in ("fsync", "fdatasync"):
            if path in self.live:
                self.synced[self.live[path]] = content(store, str(number))
            else:  # a folder
                self.sync_folder(path)

    def sync_folder(self, folder):
        def below(path):
            return os.path.dirname(path) == folder.rstrip("/")
        for path, file in self.pending:
            if below(path):
                self.names.pop(path, None)
                if file:
                    self.names[path] = file
        self.pending = [change for change in self.pending if not below(change[0])]

    def after_the_loss(self, draw):
        """path -> content: a random choice of what may be found."""
        names, pending = dict(self.names), [change for change in self.pending if draw.random() < 0.5]
        draw.shuffle(pending)
        for path, file in pending:
            names.pop(path, None)
            if file:
                names[path] = file
        return {path: self.synced.get(file, b"") for path, file in names.items()}


def rebuild(job, files):
    job.clear()
    for path, data in files.items():
        os.makedirs(os.path.dirname(path), exist_ok=True)
        with open(path, "wb") as file:
            file.write(data)


def check(job, root):
    log, store = os.path.join(root, job.name + ".log"), os.path.join(root, "store")
    os.makedirs(store)
    job.clear()
    done = with_faults(job, job.first(), log, store=store)
    assert done.returncode == 0, done.stderr
    wanted, events, draw, failures, promised = job.result(), calls_in(log), random.Random(SEED), 0, 0
    os.remove(log)
    for loss in range(LOSSES):
        last, disk, promises = draw.randrange(1, len(events) + 1), Disk(), Promises()
        for number, (name, path, other) in enumerate(events[:last], 1):
            disk.take(number, name, path, other, store)
            promises.take(name, path, other, disk)
        files = disk.after_the_loss(draw)
        rebuild(job, files)
        promised += len(promises.kept)
        if gone := promises.broken(files, disk):
            failures += 1
            print(f"{job.name}: loss {loss} after call {last}: saved and gone: {gone}", file=sys.stderr)
            continue
        again = call(job.again())
        if again.returncode != 0 or job.result() != wanted:
            failures += 1
            print(f"{job.name}: loss {loss} after call {last} {events[last - 1]}: {again.returncode} {again.stderr[-300:]}\n"
                  f"{sorted((os.path.relpath(p, job.folder), len(c)) for p, c in files.items())}", file=sys.stderr)
    shutil.rmtree(store)
    print(f"{job.name}: {LOSSES} losses of power, {promised} files had to be there, {failures} failures")
    return failures


if __name__ == "__main__":
    for_each_job(check)
