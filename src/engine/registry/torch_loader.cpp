// Finds and opens libmdsm_torch.so: $MDSM_TORCH_MODULE alone when it is set, else the one beside libmdsm.so
// (a build folder) or in mdsm/ beside it (installed); a program that holds this code itself looks in ../lib.
// The module stays open until the program ends, because engines and exceptions from it may live that long.
#include "engine/registry/torch_loader.h"

#include <dlfcn.h>

#include <cstdlib>

#include "core/error.h"
#include "core/files.h"
#include "core/resources.h"
#include "core/threads.h"

namespace mdsm::engine {
namespace {

std::vector<fs::path> candidates() {
  if (const char* named = std::getenv("MDSM_TORCH_MODULE"); named && *named) return {named};
  const fs::path folder = library_path().parent_path();
  return {folder / kTorchModuleFile, folder / "mdsm" / kTorchModuleFile,
          folder.parent_path() / "lib" / kTorchModuleFile};
}

// Empty when there is none.
fs::path module_path() {
  std::error_code error;
  for (const fs::path& path : candidates())
    if (fs::is_regular_file(path, error)) return path;
  return {};
}

[[noreturn]] void fail_missing() {
  if (const char* named = std::getenv("MDSM_TORCH_MODULE"); named && *named)
    fail("correct or unset it", "MDSM_TORCH_MODULE names {}, which is not a file", named);
  fail("use --engine native, or install libtorch-dev and build with -DMDSM_TORCH=ON",
       "this build has no LibTorch engine ({} is not there)", kTorchModuleFile);
}

struct Module {
  MakeTorchEngine* make = nullptr;
  TorchVersion* version = nullptr;
  LoadTorchScript* load_script = nullptr;
  JoinProcesses* join = nullptr;
};

template <class Function>
Function* symbol(void* handle, const char* name, const fs::path& path) {
  void* address = dlsym(handle, name);
  if (!address)
    fail("build it together with this program", "{} is no mdsm engine module ({} is missing)", path.string(),
         name);
  return reinterpret_cast<Function*>(address);
}

Module open_module() {
  const fs::path path = module_path();
  if (path.empty()) fail_missing();
  void* handle = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (!handle)
    fail("install LibTorch (Debian: libtorch-dev) or use --engine native", "cannot load {}: {}",
         path.string(), dlerror());
  return {symbol<MakeTorchEngine>(handle, "mdsm_make_torch_engine", path),
          symbol<TorchVersion>(handle, "mdsm_torch_version", path),
          symbol<LoadTorchScript>(handle, "mdsm_load_torch_script", path),
          symbol<JoinProcesses>(handle, "mdsm_join_processes", path)};
}

// LibTorch logs what it then throws; a lost connection is to be one line of ours.
void keep_log_quiet() {
  ::setenv("GLOG_minloglevel", "3", 0);
  ::setenv("TORCH_CPP_LOG_LEVEL", "FATAL", 0);
}

// Opened at the first call; a failed attempt throws and is tried again next time.
const Module& torch_module() {
  static const Module module = open_module();
  return module;
}

}  // namespace

std::unique_ptr<TrainableEnergy> make_torch_engine(const network::Parameters& parameters,
                                                   const std::string& device, Precision precision) {
  return std::unique_ptr<TrainableEnergy>(torch_module().make(parameters, device, precision, &thread_count));
}

std::unique_ptr<TorchScript> load_torch_script(const std::string& path, const std::string& device) {
  if (!torch_module_present() && !std::getenv("MDSM_TORCH_MODULE"))
    fail("give --classifier instead, or install libtorch-dev and build with -DMDSM_TORCH=ON",
         "--features {} needs LibTorch: {} is not there", path, kTorchModuleFile);
  return std::unique_ptr<TorchScript>(torch_module().load_script(path, device, &thread_count));
}

std::unique_ptr<distributed::Communicator> join_processes(const distributed::Launch& launch,
                                                          const std::string& version) {
  if (!torch_module_present() && !std::getenv("MDSM_TORCH_MODULE"))
    fail("install libtorch-dev and libgloo-dev and build with -DMDSM_TORCH=ON, or start one process",
         "{} processes cannot work together: {} is not there", launch.size, kTorchModuleFile);
  keep_log_quiet();
  return std::unique_ptr<distributed::Communicator>(torch_module().join(launch, version));
}

std::string torch_version() { return torch_module().version(); }

bool torch_module_present() { return !module_path().empty(); }

}  // namespace mdsm::engine
