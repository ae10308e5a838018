"""docs/cli.md is what `mdsm --reference` prints, and the overview, the help texts and the reference agree."""
import difflib
import re
import subprocess
import sys
import unittest

MDSM, REFERENCE = sys.argv[1:3]


def run(*arguments):
    return subprocess.run([MDSM, *arguments], capture_output=True, text=True, check=True).stdout


class Reference(unittest.TestCase):
    def test_docs_match_the_program(self):
        with open(REFERENCE, encoding="utf-8") as file:
            written = file.read()
        diff = "".join(difflib.unified_diff(written.splitlines(True), run("--reference").splitlines(True),
                                            "docs/cli.md", "mdsm --reference"))
        self.assertEqual(diff, "", "docs/cli.md is out of date; regenerate it with\n"
                         "  build/release/bin/mdsm --reference > docs/cli.md\n" + diff)

    def test_every_command_is_documented_and_has_help(self):
        commands = re.findall(r"^  (\w+)  +\S", run("--help").split("Commands:")[1], re.MULTILINE)
        self.assertGreaterEqual(len(commands), 1)
        self.assertEqual(commands, re.findall(r"^## mdsm (\w+)$", run("--reference"), re.MULTILINE))
        for command in commands:
            self.assertIn(f"Usage: mdsm {command}", run(command, "--help"))

    def test_version_names_what_a_bug_report_needs(self):
        text = run("--version")
        self.assertRegex(text, r"\Amdsm \d+\.\d+\.\d+")
        for word in ("compiler:", "engines:", "native", "oneDNN", "libpng", "processor:", "threads:"):
            self.assertIn(word, text)


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
