// A connection that no client can make expensive: a request has so many bytes and so many seconds, an answer
// so many seconds for each write. cpp-httplib reads and writes through it; what it does not limit itself (the
// length of a line, the time for a whole request, chunked bodies) is limited here.
#pragma once

#include <httplib.h>

#include <array>
#include <atomic>
#include <chrono>
#include <functional>
#include <string>
#include <string_view>
#include <utility>

#include "serve/any_stream.h"

namespace mdsm::serve {

struct Allowance {
  size_t head = 32 << 10, body = 48 << 20;  // bytes of a request
  std::chrono::milliseconds head_time{10'000}, body_time{60'000}, write_time{10'000}, idle_time{5'000};
};

class Connection : public AnyStream {
 public:
  Connection(socket_t socket, const Allowance& allowance, const std::atomic<bool>& stop);

  // Waits for the first byte of a request; false where none comes.
  bool wait_for_request();
  // 0, or the status that tells a client why it was cut off: 408, 413, 431.
  int broken_off() const { return broken_off_; }
  // Reads for a moment what a client still sends, so that it gets to see the answer before the end.
  void let_go();

  ssize_t read(char* to, size_t size) override;
  ssize_t write(const char* from, size_t size) override;
  socket_t socket() const override { return socket_; }

 private:
  using Clock = std::chrono::steady_clock;
  bool can_write() const override;
  bool wait(short events, Clock::time_point until) const;
  bool fill();
  bool send_all(std::string_view text);
  ssize_t break_off(int status);
  void count(char byte);

  socket_t socket_;
  const Allowance& allowance_;
  const std::atomic<bool>& stop_;
  std::array<char, 16384> buffer_;
  size_t first_ = 0, end_ = 0;  // of what is in the buffer
  Clock::time_point until_;     // when the part of the request at hand must have come
  size_t taken_ = 0;            // bytes of it
  bool in_body_ = false, told_ = false;
  // The head ends where the library says so: at a line of a carriage return and a line feed. It skips a line
  // feed alone, after which a client could send as much head as it may send body.
  int line_ = 0;         // bytes of the line at hand, without the line feed
  bool return_ = false;  // the last of them is a carriage return
  int broken_off_ = 0;
};

// Threads that serve a connection each, and connections that wait for one. One more is told so and closed:
// files that the process may have open must be left for jobs.
class Workers : public httplib::TaskQueue {
 public:
  static constexpr size_t kThreads = 384, kWaiting = 256;

  // Versions of cpp-httplib differ in whether they want to know that it was taken.
  using Taken = decltype(std::declval<httplib::TaskQueue&>().enqueue({}));
  Taken enqueue(std::function<void()> work) override;
  void shutdown() override { threads_.shutdown(); }

 private:
  std::atomic<size_t> waiting_{0};
  httplib::ThreadPool threads_{kThreads};
};

// A server whose connections are of this kind.
class GuardedServer : public httplib::Server {
 public:
  explicit GuardedServer(const Allowance& allowance) : allowance_(allowance) {
    new_task_queue = [] { return new Workers; };
  }

  // One request from any stream; false where the connection is to be closed. Also for fuzzing.
  bool serve_one(httplib::Stream& stream);
  // Of a handler: what is left of this request is not read, the connection ends with the answer.
  static void close_after_this();
  // Ends connections that wait, and streams of events.
  void ask_to_stop() { stop_ = true; }
  const std::atomic<bool>& stopping() const { return stop_; }

 private:
  bool process_and_close_socket(socket_t socket) override;
  template <class AnyStream>
  bool process(AnyStream& stream, bool& closed);

  Allowance allowance_;
  std::atomic<bool> stop_{false};
};

}  // namespace mdsm::serve
