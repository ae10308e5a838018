# Builds for 64-bit ARM on another Debian: its cross compiler, and libraries of the foreign architecture arm64
# (scripts/bootstrap --arm64). Tests run under qemu, and are counted when they are run rather than when they are built.
set(CMAKE_SYSTEM_NAME Linux)
set(CMAKE_SYSTEM_PROCESSOR aarch64)
set(CMAKE_C_COMPILER aarch64-linux-gnu-gcc)
set(CMAKE_CXX_COMPILER aarch64-linux-gnu-g++)
set(CMAKE_LIBRARY_ARCHITECTURE aarch64-linux-gnu)
set(ENV{PKG_CONFIG_LIBDIR} /usr/lib/aarch64-linux-gnu/pkgconfig:/usr/share/pkgconfig)
# A CPU without SVE. With vectors of 512 bits, qemu's own choice, kernels of oneDNN 3.7 for 256 give wrong convolutions.
set(CMAKE_CROSSCOMPILING_EMULATOR qemu-aarch64 -cpu neoverse-n1)
set(CMAKE_GTEST_DISCOVER_TESTS_DISCOVERY_MODE PRE_TEST)
