// A connection to mdsm serve as a function of bytes: requests as they would come, @CSRF@ for the token that
// the sender would have read. Jobs are made and never run.
#pragma once

#include <cstring>

#include "core/options.h"
#include "serve/server.h"

namespace mdsm::fuzz {

class FedStream : public serve::AnyStream {
 public:
  explicit FedStream(std::string text) : text_(std::move(text)) {}
  ssize_t read(char* to, size_t size) override {
    const size_t count = std::min(size, text_.size() - at_);
    std::memcpy(to, text_.data() + at_, count);
    at_ += count;
    return static_cast<ssize_t>(count);
  }
  ssize_t write(const char*, size_t size) override { return static_cast<ssize_t>(size); }
  socket_t socket() const override { return 0; }
  bool at_end() const { return at_ == text_.size(); }

 private:
  std::string text_;
  size_t at_ = 0;
};

inline void serve_requests(std::string text, const fs::path& folder) {
  static int64_t number = 1;
  static const serve::Commands commands{[](const std::string&) {
                                          OptionSet options("any", "");
                                          std::string model;
                                          options.add("model", model, "").meta("MODEL");
                                          options.group("Samples").add("n", number, "").range(1, 100);
                                          return options.description();
                                        },
                                        [](const std::vector<std::string>&) {}};
  static serve::GuardedServer server(serve::allowance({}));
  static serve::Service service({}, commands, server, 8080, folder / "jobs");
  server.ask_to_stop();  // streams of events end at once
  const std::string mark = "@CSRF@";
  for (size_t at = 0; (at = text.find(mark, at)) != std::string::npos;)
    text.replace(at, mark.size(), service.guard().csrf());
  FedStream stream(std::move(text));
  for (int i = 0; i < 8 && !stream.at_end() && server.serve_one(stream); ++i) continue;
  for (const serve::Job& job : service.queue().all())
    service.queue().cancel(job.id), service.queue().remove(job.id);
}

}  // namespace mdsm::fuzz
