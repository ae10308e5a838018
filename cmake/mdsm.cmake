# Helpers that give every target of the project the same warnings, sanitizers and include root.

add_library(mdsm_flags INTERFACE)
target_include_directories(mdsm_flags INTERFACE ${PROJECT_SOURCE_DIR}/src ${PROJECT_SOURCE_DIR}/include)
target_compile_options(mdsm_flags INTERFACE -Wall -Wextra -Wshadow -Wnon-virtual-dtor
                                            # a false alarm of gcc 12 in std::string
                                            $<$<CXX_COMPILER_ID:GNU>:-Wno-restrict>)
if(MDSM_SANITIZE)
  list(JOIN MDSM_SANITIZE "," _mdsm_sanitizers)
  # gcc's shadow warnings inside instrumented standard headers are not ours to fix.
  target_compile_options(mdsm_flags INTERFACE -fsanitize=${_mdsm_sanitizers} -fno-omit-frame-pointer
                                              -fno-sanitize-recover=all
                                              $<$<CXX_COMPILER_ID:GNU>:-Wno-maybe-uninitialized>)
  target_link_options(mdsm_flags INTERFACE -fsanitize=${_mdsm_sanitizers})
endif()

if(MDSM_FUZZ)
  add_compile_options(-fsanitize=fuzzer-no-link)  # what libFuzzer learns from
endif()

# Headers that nearly every source includes, parsed once: fmt, JSON and the standard library are most of what the compiler
# reads. Tests have theirs, as programs are compiled with other flags than libraries. Sources still include what they use;
# -DMDSM_PCH=OFF shows where one does not.
set(MDSM_COMMON_HEADERS <algorithm> <array> <atomic> <chrono> <cmath> <filesystem> <functional> <map> <memory> <optional>
    <span> <string> <vector> <fmt/format.h> <nlohmann/json.hpp>)
function(mdsm_precompile target)
  target_link_libraries(${target} PRIVATE mdsm_flags fmt::fmt Threads::Threads nlohmann_json::nlohmann_json)
  target_precompile_headers(${target} PRIVATE ${MDSM_COMMON_HEADERS} ${ARGN})
endfunction()
if(MDSM_PCH)
  file(CONFIGURE OUTPUT ${PROJECT_BINARY_DIR}/precompiled.cpp CONTENT "int main() { return 0; }\n")
  add_library(mdsm_precompiled STATIC ${PROJECT_BINARY_DIR}/precompiled.cpp)
  mdsm_precompile(mdsm_precompiled)
  if(CMAKE_CXX_COMPILER_ID MATCHES Clang)  # a header that was only touched makes clang refuse what it parsed before
    target_compile_options(mdsm_precompiled PRIVATE "SHELL:-Xclang -fno-pch-timestamp")
  endif()
endif()

# Sources of a folder are compiled ten at a time, so that what the headers' templates become is compiled once for ten.
# Names in unnamed namespaces must therefore differ within a folder of src. Kernels, which have options of their own, stay
# alone (cmake leaves them out). -DMDSM_UNITY=OFF compiles each by itself.
set(CMAKE_UNITY_BUILD ${MDSM_UNITY})
set(CMAKE_UNITY_BUILD_BATCH_SIZE 10)

# mdsm_library(core DEPS fmt::fmt ...) makes the static library mdsm_core from every .cpp of the current folder.
function(mdsm_library name)
  cmake_parse_arguments(ARG "" "" "DEPS;PRIVATE_DEPS" ${ARGN})
  file(GLOB sources CONFIGURE_DEPENDS ${CMAKE_CURRENT_SOURCE_DIR}/*.cpp)
  add_library(mdsm_${name} STATIC ${sources})
  target_link_libraries(mdsm_${name} PUBLIC mdsm_flags ${ARG_DEPS} PRIVATE ${ARG_PRIVATE_DEPS})
  if(MDSM_PCH AND NOT name STREQUAL core)  # spdlog compiles core with definitions of its own
    target_precompile_headers(mdsm_${name} REUSE_FROM mdsm_precompiled)
  endif()
endfunction()

# mdsm_instruction_sets(engine_native kernels OPTIONS -Wno-psabi): kernels_generic.cpp, kernels_avx2.cpp and
# kernels_avx512.cpp of the target hold the same kernels, compiled once per instruction set and chosen at run time
# (core/isa.h). No fast-math: results must not depend on how a loop was split.
function(mdsm_instruction_sets name stem)
  cmake_parse_arguments(ARG "" "" "OPTIONS" ${ARGN})
  set(generic -O3 ${ARG_OPTIONS})
  if(MDSM_FUZZ)  # no reader is in here, and sanitizers make these take minutes to compile
    set(generic -O1 ${ARG_OPTIONS} -fno-sanitize=all)
  endif()
  # gcc 14 takes multiply-adds apart in some loops and not in others: an image's bits would depend on its place.
  set(avx2 ${generic} -mavx2 -mfma $<$<CXX_COMPILER_ID:GNU>:--param=avoid-fma-max-bits=0>)
  set(avx512 ${avx2} -mavx512f -mavx512vl -mavx512dq -mavx512bw -mprefer-vector-width=512)
  set_source_files_properties(${stem}_generic.cpp ${stem}_avx2.cpp ${stem}_avx512.cpp PROPERTIES
                              SKIP_PRECOMPILE_HEADERS ON)
  set_source_files_properties(${stem}_generic.cpp PROPERTIES COMPILE_OPTIONS "${generic}")
  if(CMAKE_SYSTEM_PROCESSOR MATCHES "x86_64|AMD64")
    set_source_files_properties(${stem}_avx2.cpp PROPERTIES COMPILE_OPTIONS "${avx2}")
    set_source_files_properties(${stem}_avx512.cpp PROPERTIES COMPILE_OPTIONS "${avx512}")
  else()
    get_target_property(sources mdsm_${name} SOURCES)
    list(FILTER sources EXCLUDE REGEX "/${stem}_avx")
    set_target_properties(mdsm_${name} PROPERTIES SOURCES "${sources}")
  endif()
endfunction()

# The tests' own code is compiled quickly rather than made fast.
function(mdsm_test_program target)
  target_compile_options(${target} PRIVATE -O1)
  if(MDSM_PCH)
    target_precompile_headers(${target} REUSE_FROM mdsm_precompiled_tests)
  endif()
endfunction()

# mdsm_test(core DEPS mdsm_core) makes one test program from every *_test.cpp of the current folder.
function(mdsm_test name)
  cmake_parse_arguments(ARG "" "" "DEPS" ${ARGN})
  file(GLOB sources CONFIGURE_DEPENDS ${CMAKE_CURRENT_SOURCE_DIR}/*_test.cpp)
  add_executable(${name}_test ${sources})
  target_link_libraries(${name}_test PRIVATE mdsm_flags ${ARG_DEPS} GTest::gtest_main)
  target_include_directories(${name}_test PRIVATE ${PROJECT_SOURCE_DIR}/tests)
  mdsm_test_program(${name}_test)
  gtest_discover_tests(${name}_test DISCOVERY_TIMEOUT 60 PROPERTIES TIMEOUT 600 LABELS unit)
endfunction()
