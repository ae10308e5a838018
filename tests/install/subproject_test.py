"""mdsm inside another project, by add_subdirectory and by FetchContent: the library is built with it and works.

    subproject_test.py SOURCE CMAKE
"""
import os
import shutil
import subprocess
import sys
import tempfile

SOURCE, CMAKE = sys.argv[1:]
INCLUDED = {
    "add_subdirectory": f'add_subdirectory("{SOURCE}" mdsm)\n',
    "FetchContent": f'include(FetchContent)\nFetchContent_Declare(mdsm SOURCE_DIR "{SOURCE}")\nFetchContent_MakeAvailable(mdsm)\n',
}


def run(*words, folder=None):
    done = subprocess.run(words, capture_output=True, text=True, timeout=3000, cwd=folder)
    assert done.returncode == 0, (words, done.stdout[-3000:], done.stderr[-3000:])
    return done.stdout


with tempfile.TemporaryDirectory() as root:
    shutil.copy(os.path.join(SOURCE, "examples/draw.c"), root)
    for name, text in INCLUDED.items():
        build = os.path.join(root, name)
        with open(os.path.join(root, "CMakeLists.txt"), "w", encoding="utf-8") as file:
            file.write("cmake_minimum_required(VERSION 3.24)\nproject(other LANGUAGES C CXX)\n" + text +
                       "add_executable(draw draw.c)\ntarget_link_libraries(draw PRIVATE mdsm::mdsm)\n")
        run(CMAKE, "-S", root, "-B", build, "-G", "Ninja", "-DCMAKE_BUILD_TYPE=Release")
        # The second way differs in its first lines only: that it configures is enough.
        if name == "add_subdirectory":
            run(CMAKE, "--build", build, "--target", "draw")
            run(os.path.join(build, "draw"), folder=root)
            assert os.path.exists(os.path.join(root, "completed.png"))
print("inside another project: all is as it should be")
