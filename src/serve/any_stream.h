// What versions of cpp-httplib ask of a stream beside its bytes, under all of the names they have had for it.
#pragma once

#include <httplib.h>

#include <ctime>
#include <string>

namespace mdsm::serve {

class AnyStream : public httplib::Stream {
 public:
  bool is_readable() const override { return true; }
  bool is_writable() const { return can_write(); }
  bool wait_readable() const { return true; }
  bool wait_writable() const { return can_write(); }
  time_t duration() const { return 0; }
  // Nobody is told apart by address.
  void get_remote_ip_and_port(std::string& ip, int& port) const override { ip.clear(), port = 0; }
  void get_local_ip_and_port(std::string& ip, int& port) const override { ip.clear(), port = 0; }

 private:
  virtual bool can_write() const { return true; }
};

}  // namespace mdsm::serve
