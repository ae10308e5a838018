// The folder of one run: made under the next free number, locked while a process works in it, and holding
// everything that explains the run. Knows names and places, not what training means.
#pragma once

#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <string>

#include "core/folder_lock.h"

namespace mdsm::train {

// Beside the state: the one before it.
constexpr const char* kEarlierState = "state-earlier.safetensors";

class RunFolder {
 public:
  // Makes OUTDIR/NNNNN-name with options.json and version.txt, or nothing at all where they cannot be
  // written. Safe against other processes doing the same.
  static RunFolder create(const fs::path& outdir, const std::string& name, const nlohmann::json& options,
                          const std::string& version);
  // An existing run, for resume: takes the lock and clears what a killed process left.
  static RunFolder open(const fs::path& path);

  const fs::path& path() const { return path_; }
  fs::path options() const { return path_ / "options.json"; }
  fs::path log() const { return path_ / "log.txt"; }
  fs::path stats() const { return path_ / "stats.jsonl"; }
  fs::path plot() const { return path_ / "loss.svg"; }
  fs::path state() const { return path_ / "state.safetensors"; }
  fs::path earlier_state() const { return path_ / kEarlierState; }
  fs::path failed_state() const { return path_ / "state-failed.safetensors"; }
  fs::path weights() const { return path_ / "weights.safetensors"; }
  fs::path ema() const { return path_ / "ema.safetensors"; }
  fs::path snapshot(int64_t step) const;
  fs::path preview(int64_t step) const;

  // The run of the highest number in a folder of runs.
  static fs::path latest(const fs::path& outdir);
  // Whether the run has a checkpoint.
  static bool has_state(const fs::path& path);
  // The options.json of a run, without taking its lock.
  static nlohmann::json recorded_options(const fs::path& path);
  void write_options(const nlohmann::json& options) const;
  // The run that a launcher's job was at before it started its processes again; empty where there is none.
  static fs::path of_job(const fs::path& outdir, const std::string& job);
  void write_job(const std::string& job) const;

 private:
  explicit RunFolder(fs::path path) : path_(std::move(path)) {}
  void remove();  // one that has just been made
  void lock() { lock_ = FolderLock(path_, "training"); }

  fs::path path_;
  FolderLock lock_;
};

// What files say of where the data is from: a path is reduced to its last name, NAME:PATH to NAME.
std::string source_name(const std::string& data);
// What files say of a model that something started from: the last name of its path.
std::string model_name(const std::string& model);
// "fashion-mnist-res12-w16[-desc]", from the source's name. A desc
// with other characters than letters, digits, dot, dash and underscore is a usage error.
std::string run_name(const std::string& data, const std::string& network, int64_t width,
                     const std::string& desc);

}  // namespace mdsm::train
