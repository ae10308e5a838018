"""mdsm <TAB> in bash, zsh and fish, each a real shell at a terminal of its own; and the manual pages, through man and groff."""
import os
import re
import shutil
import subprocess
import sys
import tempfile
import unittest

from program import MDSM, call, run

try:
    import pexpect
except ImportError:
    pexpect = None

FOLDER = tempfile.mkdtemp()


def made():
    """The installed files of all shells and pages, and a PATH on which mdsm is the program."""
    os.makedirs(FOLDER + "/bin", exist_ok=True)
    if not os.path.exists(FOLDER + "/bin/mdsm"):
        os.symlink(MDSM, FOLDER + "/bin/mdsm")
        run("--manual", FOLDER + "/share")
        os.makedirs(FOLDER + "/here/photos")
        open(FOLDER + "/here/phase.toml", "w").close()
    return FOLDER


def needs(program):
    return unittest.skipUnless(shutil.which(program), f"{program} is not installed")


class Bash(unittest.TestCase):
    def completed(self, *words):
        """What bash itself offers for the last word: the function that was registered, called as readline does."""
        script = ('source "$1/share/bash-completion/completions/mdsm"; shift; COMP_WORDS=("$@"); COMP_CWORD=$(($# - 1)); '
                  'f=$(complete -p mdsm | sed "s/.*-F \\([^ ]*\\).*/\\1/"); compopt() { :; }; $f mdsm "${@: -1}" "${@: -2:1}"; printf "%s\\n" "${COMPREPLY[@]}"')
        done = subprocess.run(["bash", "--norc", "-c", script, "bash", made(), *words], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                              cwd=FOLDER + "/here", check=True)
        self.assertEqual(done.stderr, "")
        return done.stdout.split()

    def test_words(self):
        self.assertLessEqual({"train", "sample", "score", "export"}, set(self.completed("mdsm", "")))
        self.assertEqual(self.completed("mdsm", "tr"), ["train"])
        self.assertEqual(self.completed("mdsm", "train", "--wid"), ["--width"])
        self.assertEqual(self.completed("mdsm", "sample", "--sampler", "mult"), ["multistep"])
        self.assertEqual(self.completed("mdsm", "sample", "--sampler", "=", "mult"), ["multistep"])
        self.assertIn("fashion-mnist", self.completed("mdsm", "sample", "--model", "fash"))
        self.assertIn("photos", self.completed("mdsm", "train", "--data", "ph"))
        self.assertEqual(self.completed("mdsm", "train", "--config", "pha"), ["phase.toml"])
        self.assertEqual(self.completed("mdsm", "help", "nei"), ["neighbours"])
        self.assertEqual(self.completed("mdsm", "train", "--steps", ""), [])

    def test_at_a_terminal(self):
        self.assertIn("mdsm train --width", at_terminal(["bash", "--norc", "-i"],
                      f"PS1='% '; PATH={FOLDER}/bin:$PATH; source {made()}/share/bash-completion/completions/mdsm", "mdsm trai\t--wid\t"))


def at_terminal(shell, setup, keys, environment=None):
    """What the screen shows after the keys."""
    if not pexpect:
        raise unittest.SkipTest("python3-pexpect is not installed")
    child = pexpect.spawn(shell[0], shell[1:], encoding="utf-8", timeout=20, dimensions=(40, 200), cwd=made() + "/here",
                          env={**os.environ, "TERM": "dumb", "HOME": FOLDER, **(environment or {})})
    child.sendline(setup)
    child.sendline("echo rea''dy")
    child.expect("ready")
    child.send(keys)
    shown = ""
    try:
        while True:
            shown += child.read_nonblocking(10000, timeout=3)
    except (pexpect.TIMEOUT, pexpect.EOF):
        pass
    child.close(force=True)
    shown = re.sub(r"\x1b\[[0-9;?]*[a-zA-Z]|[\r\x07]", "", shown)
    while "\x08" in shown:
        shown = re.sub(r"[^\x08]\x08|^\x08", "", shown)
    return shown


@needs("zsh")
class Zsh(unittest.TestCase):
    def shown(self, keys):
        return at_terminal(["zsh", "-f", "-i"], f"PS1='% '; PATH={FOLDER}/bin:$PATH; fpath=({made()}/share/zsh/site-functions $fpath); "
                           "autoload -Uz compinit && compinit -u -D", keys)

    def test_at_a_terminal(self):
        self.assertIn("mdsm train --width", self.shown("mdsm trai\t--wid\t"))
        text = self.shown("mdsm \t")
        for word in ("train", "neighbours", "Draw images from a model"):
            self.assertIn(word, text)
        self.assertIn("--sampler multistep", self.shown("mdsm sample --sampler mult\t"))
        self.assertIn("--config phase.toml", self.shown("mdsm train --config pha\t"))
        self.assertIn("photos-grey", self.shown("mdsm denoise --model phot\t\t\t"))


@needs("fish")
class Fish(unittest.TestCase):
    def offered(self, line):
        done = subprocess.run(["fish", "--no-config", "-c", f"set PATH {made()}/bin $PATH; source {FOLDER}/share/fish/vendor_completions.d/mdsm.fish; "
                               f"complete -C '{line}'"], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, cwd=FOLDER + "/here",
                              env={**os.environ, "HOME": FOLDER}, check=True)
        self.assertEqual(done.stderr, "")
        return dict((line.split("\t") + [""])[:2] for line in done.stdout.splitlines())

    def test_words(self):
        words = self.offered("mdsm ")
        self.assertEqual(words["sample"], "Draw images from a model")
        self.assertNotIn("photos/", words)
        self.assertEqual(list(self.offered("mdsm train --wid")), ["--width"])
        self.assertIn("multistep", self.offered("mdsm sample --sampler mult"))
        self.assertIn("phase.toml", self.offered("mdsm train --config pha"))
        self.assertNotIn("--width", self.offered("mdsm sample --"))
        self.assertIn("photos-grey", self.offered("mdsm denoise --model pho"))

    def test_at_a_terminal(self):
        self.assertIn("--width", at_terminal(["fish", "--no-config", "-i"], f"set PATH {FOLDER}/bin $PATH; source {made()}/share/fish/vendor_completions.d/mdsm.fish",
                                             "mdsm train --wid\t"))


class Manual(unittest.TestCase):
    def pages(self):
        folder = made() + "/share/man/man1"
        return [os.path.join(folder, name) for name in sorted(os.listdir(folder))]

    def test_a_page_for_every_command(self):
        commands = re.findall(r"^## mdsm (\w+)$", run("--reference"), re.MULTILINE)
        self.assertEqual([os.path.basename(page) for page in self.pages()], sorted(["mdsm.1"] + [f"mdsm-{name}.1" for name in commands]))
        for page in self.pages()[:2]:
            with open(page, encoding="ascii") as file:
                name = os.path.basename(page)[:-2].split("-")[1:]
                self.assertEqual(file.read(), run("man", *name))

    @needs("groff")
    def test_groff_has_nothing_to_say(self):
        for page in self.pages():
            done = subprocess.run(["groff", "-man", "-ww", "-Tutf8", "-rLL=100n", page], stdout=subprocess.PIPE, stderr=subprocess.PIPE, check=True)
            self.assertEqual(done.stderr.decode(), "", page)

    @needs("man")
    def test_man_shows_them(self):
        environment = {**os.environ, "MANWIDTH": "100", "LC_ALL": "C.UTF-8", "MAN_KEEP_FORMATTING": "", "PAGER": "cat"}
        for page, words in (("mdsm.1", ["mdsm COMMAND [options]", "neighbours", "MDSM_DATA"]),
                            ("mdsm-train.1", ["mdsm-train - Train an energy model", "--width INT", "--sigma-max NUMBER", "bowl ‖x‖²", "EXAMPLES"])):
            done = subprocess.run(["man", "--warnings", "-l", f"{made()}/share/man/man1/{page}"], stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                                  env=environment, check=True)
            text = re.sub(r".\x08", "", done.stdout.decode())
            self.assertEqual(done.stderr.decode(), "", page)
            for word in words:
                self.assertIn(word, text)

    def test_wrong_words(self):
        for words, part in ((["completion", "tcsh"], "bash, zsh or fish"), (["completion"], "bash, zsh or fish"), (["man", "trian"], "did you mean train?"),
                            (["--manual"], "mdsm --manual FOLDER")):
            done = call(*words)
            self.assertEqual(done.returncode, 2)
            self.assertIn(part, done.stderr)


if __name__ == "__main__":
    try:
        unittest.main(argv=sys.argv[:1])
    finally:
        shutil.rmtree(FOLDER, ignore_errors=True)
