"""Native commands do not load LibTorch: not through the program's own needs, and not while they run."""
import os
import re
import subprocess
import sys
import unittest

MDSM = sys.argv[1]
TORCH = re.compile(r"lib(torch|c10|caffe2)\w*\.so")
# The sanitizers' own libraries print nothing here, but their programs dislike LD_DEBUG's early output.
NATIVE_COMMANDS = [["--help"], ["--version"], ["--reference"], ["describe"], ["train", "--help"],
                   ["describe", "--net", "res6", "--width", "8"]]


def loaded_libraries(arguments, expected_code=0):
    """Every file the dynamic linker opens or tries, dlopen included."""
    result = subprocess.run([MDSM, *arguments], capture_output=True, text=True,
                            env={**os.environ, "LD_DEBUG": "files,libs"})
    if result.returncode != expected_code:
        raise AssertionError(f"mdsm {arguments} exits with {result.returncode}:\n{result.stderr[-2000:]}")
    return result.stderr


class Startup(unittest.TestCase):
    def test_the_probe_sees_libraries(self):
        self.assertRegex(loaded_libraries(["--help"]), r"libdnnl\.so")

    def test_native_commands_leave_torch_alone(self):
        for arguments in NATIVE_COMMANDS:
            with self.subTest(" ".join(arguments)):
                found = TORCH.search(loaded_libraries(arguments))
                self.assertIsNone(found, f"mdsm {' '.join(arguments)} loads {found and found.group()}")

    def test_help_needs_no_files_and_no_environment(self):
        result = subprocess.run([os.path.abspath(MDSM), "--help"], capture_output=True, text=True, env={},
                                cwd="/", stdin=subprocess.DEVNULL)
        self.assertEqual((result.returncode, result.stderr), (0, ""))


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
