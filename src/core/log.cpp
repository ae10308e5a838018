#include "core/log.h"

#include <spdlog/sinks/basic_file_sink.h>
#include <spdlog/sinks/stdout_sinks.h>
#include <spdlog/spdlog.h>

#include <algorithm>

#include "core/error.h"
#include "core/progress.h"

namespace mdsm {
namespace {

spdlog::logger& logger() {
  static const auto instance = [] {
    auto sink = std::make_shared<spdlog::sinks::stderr_sink_mt>();
    sink->set_pattern("%v");
    auto made = std::make_shared<spdlog::logger>("mdsm", sink);
    // A full disk must not end a training run through its log: the checkpoint writer reports it properly.
    made->set_error_handler([](const std::string&) {});
    return made;
  }();
  return *instance;
}

}  // namespace

void log_line(LogLevel level, const std::string& text) {
  Progress::clear_line();
  if (level == LogLevel::warning)
    logger().warn("warning: {}", text);
  else
    logger().info("{}", text);
}

LogFile::LogFile(const fs::path& path) {
  try {
    auto sink = std::make_shared<spdlog::sinks::basic_file_sink_mt>(path.string());
    sink->set_pattern("%Y-%m-%d %H:%M:%S  %v");
    logger().sinks().push_back(std::move(sink));
    logger().flush_on(spdlog::level::info);
  } catch (const spdlog::spdlog_ex& error) {
    fail("check that its folder can be written", "{}: cannot be written: {}", path.string(), error.what());
  }
}

LogFile::~LogFile() { logger().sinks().resize(1); }

void set_quiet(bool quiet) {
  logger().sinks().front()->set_level(quiet ? spdlog::level::warn : spdlog::level::info);
}

}  // namespace mdsm
