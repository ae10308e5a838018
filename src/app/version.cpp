// Everything a bug report needs, and nothing that costs time: LibTorch is looked for beside the program,
// never loaded.
#include "app/version.h"

#include <cstdio>  // before jpeglib.h, which wants FILE

#include <archive.h>
#include <fmt/format.h>
#include <jpeglib.h>
#include <matio.h>
#include <mdsm/version.h>
#include <png.h>
#include <tiffio.h>
#include <webp/decode.h>
#include <zlib.h>

#include <string>

#include "core/machine.h"
#include "core/threads.h"
#include "engine/registry/registry.h"
#include "engine/registry/torch_loader.h"

#ifndef MDSM_COMMIT
#define MDSM_COMMIT ""
#endif

namespace mdsm::app {
namespace {

std::string program_version() {
  const std::string commit = MDSM_COMMIT;
  return commit.empty() ? MDSM_VERSION : fmt::format("{} ({})", MDSM_VERSION, commit);
}

std::string compiler() {
#if defined(__clang__)
  return fmt::format("clang {}", __clang_version__);
#else
  return fmt::format("gcc {}", __VERSION__);
#endif
}

std::string matio_version() {
  int major = 0, minor = 0, patch = 0;
  Mat_GetLibraryVersion(&major, &minor, &patch);
  return fmt::format("{}.{}.{}", major, minor, patch);
}

// libjpeg has no call for its version; libjpeg-turbo's headers have a number.
std::string jpeg_version() {
#ifdef LIBJPEG_TURBO_VERSION_NUMBER
  constexpr int kNumber = LIBJPEG_TURBO_VERSION_NUMBER;
  return fmt::format("libjpeg-turbo {}.{}.{}", kNumber / 1000000, kNumber / 1000 % 1000, kNumber % 1000);
#else
  return fmt::format("libjpeg {}", JPEG_LIB_VERSION);
#endif
}

// "LIBTIFF, Version 4.5.0\n...": the number.
std::string tiff_version() {
  const std::string text = TIFFGetVersion(), before = "Version ";
  const size_t from = text.find(before) + before.size();
  return text.substr(from, text.find('\n') - from);
}

std::string webp_version() {
  const int version = WebPGetDecoderVersion();
  return fmt::format("{}.{}.{}", version >> 16, version >> 8 & 255, version & 255);
}

std::string engines() {
  return engine::torch_module_present() ? "native, torch (module installed), check"
                                        : "native; torch and check not built";
}

std::string libraries() {
  return fmt::format("libpng {}, {}, libtiff {}, libwebp {}, zlib {}, {}, matio {}",
                     png_get_libpng_ver(nullptr), jpeg_version(), tiff_version(), webp_version(),
                     zlibVersion(), archive_version_string(), matio_version());
}

}  // namespace

std::string version_line() { return "mdsm " + program_version(); }

std::string version_text() {
  return fmt::format(
      "{}\n"
      "compiler:  {}\n"
      "engines:   {}\n"
      "native:    {}\n"
      "libraries: {}\n"
      "processor: {}; {}\n"
      "threads:   {}\n",
      version_line(), compiler(), engines(), engine::native_engine_version(), libraries(), cpu_model(),
      cpu_features(), hardware_threads());
}

}  // namespace mdsm::app
