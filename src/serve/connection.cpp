#include "serve/connection.h"

#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cerrno>
#include <utility>

namespace mdsm::serve {
namespace {

constexpr std::chrono::milliseconds kLookAtClient{250};  // between looks at the stop flag

std::string short_answer(int status) {
  const char* const reason = status == 408   ? "Request Timeout"
                             : status == 413 ? "Content Too Large"
                             : status == 503 ? "Service Unavailable"
                                             : "Request Header Fields Too Large";
  return "HTTP/1.1 " + std::to_string(status) + " " + reason +
         "\r\nConnection: close\r\nContent-Length: 0\r\n\r\n";
}

thread_local bool close_after = false;
thread_local bool too_many = false;  // of the thread that takes connections: this one cannot be served

}  // namespace

Connection::Connection(socket_t socket, const Allowance& allowance, const std::atomic<bool>& stop)
    : socket_(socket), allowance_(allowance), stop_(stop) {}

bool Connection::wait(short events, Clock::time_point until) const {
  while (!stop_) {
    const auto left = std::chrono::duration_cast<std::chrono::milliseconds>(until - Clock::now());
    if (left.count() <= 0) return false;
    pollfd one{socket_, events, 0};
    const int found = poll(&one, 1, static_cast<int>(std::min(left, kLookAtClient).count()) + 1);
    if (found > 0) return true;
    if (found < 0 && errno != EINTR) return false;
  }
  return false;
}

bool Connection::wait_for_request() {
  taken_ = 0, line_ = 0, in_body_ = false;
  if (first_ == end_ && !wait(POLLIN, Clock::now() + allowance_.idle_time)) return false;
  until_ = Clock::now() + allowance_.head_time;
  return first_ < end_ || fill();
}

bool Connection::fill() {
  const ssize_t found = recv(socket_, buffer_.data(), buffer_.size(), 0);
  if (found <= 0) return false;
  first_ = 0, end_ = static_cast<size_t>(found);
  return true;
}

ssize_t Connection::break_off(int status) {
  broken_off_ = status;
  return -1;
}

void Connection::count(char byte) {
  ++taken_;
  if (in_body_) return;
  if (byte != '\n') {
    ++line_, return_ = byte == '\r';
  } else if (line_ == 1 && return_) {
    in_body_ = true, taken_ = 0, until_ = Clock::now() + allowance_.body_time;
  } else {
    line_ = 0;
  }
}

ssize_t Connection::read(char* to, size_t size) {
  if (broken_off_) return -1;
  if (first_ == end_) {
    if (!wait(POLLIN, until_)) return break_off(408);
    if (!fill()) return 0;
  }
  const size_t count_of = std::min(size, end_ - first_);
  for (size_t i = 0; i < count_of; ++i) count(to[i] = buffer_[first_ + i]);
  first_ += count_of;
  if (taken_ > (in_body_ ? allowance_.body : allowance_.head)) return break_off(in_body_ ? 413 : 431);
  return static_cast<ssize_t>(count_of);
}

bool Connection::can_write() const {
  pollfd one{socket_, POLLOUT | POLLRDHUP, 0};
  return !stop_ && poll(&one, 1, 0) >= 0 && !(one.revents & (POLLERR | POLLHUP | POLLRDHUP));
}

// Somebody who was cut off is told why, whatever the library made of it.
ssize_t Connection::write(const char* from, size_t size) {
  if (!broken_off_) return send_all({from, size}) ? static_cast<ssize_t>(size) : -1;
  if (!std::exchange(told_, true)) send_all(short_answer(broken_off_));
  return static_cast<ssize_t>(size);
}

bool Connection::send_all(std::string_view text) {
  const auto until = Clock::now() + allowance_.write_time;
  for (size_t sent = 0; sent < text.size();) {
    if (!wait(POLLOUT, until)) return false;
    const ssize_t found = send(socket_, text.data() + sent, text.size() - sent, MSG_NOSIGNAL | MSG_DONTWAIT);
    if (found < 0 && errno != EAGAIN && errno != EINTR) return false;
    if (found > 0) sent += static_cast<size_t>(found);
  }
  return true;
}

void Connection::let_go() {
  constexpr std::chrono::milliseconds kMoment{2'000};
  shutdown(socket_, SHUT_WR);
  const auto until = Clock::now() + kMoment;
  while (wait(POLLIN, until) && fill())
    ;
}

// Versions of cpp-httplib differ in what they want to know of the two ends.
template <class AnyStream>
bool GuardedServer::process(AnyStream& stream, bool& closed) {
  if constexpr (requires { this->process_request(stream, false, closed, nullptr); })
    return this->process_request(stream, false, closed, nullptr);
  else
    return this->process_request(stream, "", 0, "", 0, false, closed, nullptr);
}

bool GuardedServer::serve_one(httplib::Stream& stream) {
  bool closed = close_after = false;
  return process(stream, closed) && !closed && !close_after;
}

void GuardedServer::close_after_this() { close_after = true; }

Workers::Taken Workers::enqueue(std::function<void()> work) {
  if (waiting_ >= kWaiting) {
    too_many = true;
    work();
    too_many = false;
  } else {
    ++waiting_;
    threads_.enqueue([this, work = std::move(work)] {
      --waiting_;
      work();
    });
  }
  return static_cast<Taken>(true);
}

bool GuardedServer::process_and_close_socket(socket_t socket) {
  if (too_many) {
    const std::string answer = short_answer(503);
    send(socket, answer.data(), answer.size(), MSG_NOSIGNAL | MSG_DONTWAIT);
  } else {
    Connection connection(socket, allowance_, stop_);
    bool good = true;
    while (good && connection.wait_for_request()) good = serve_one(connection) && !connection.broken_off();
    if (connection.broken_off()) connection.write("", 0);
    if (!good) connection.let_go();
  }
  shutdown(socket, SHUT_RDWR);
  close(socket);
  return true;
}

}  // namespace mdsm::serve
