// Who may ask what: the name the server was called by, where a page that asks comes from, the token, and that
// what changes something is JSON of our own page or of a program that has read the CSRF token.
#pragma once

#include <httplib.h>

#include <optional>
#include <set>
#include <string>

#include "serve/options.h"

namespace mdsm::serve {

struct Refusal {
  int status = 400;
  std::string what, hint;
};

class Guard {
 public:
  // Refuses to be for anything but loopback without a token. port: the one that is listened on.
  Guard(const ServeOptions& options, int port);

  std::optional<Refusal> refusal(const httplib::Request& request) const;
  const std::string& csrf() const { return csrf_; }
  bool is_token(const std::string& text) const;  // of the address that sets the cookie
  bool wants_token() const { return !token_.empty(); }

 private:
  bool knows_host(std::string host) const;
  bool shows_token(const httplib::Request& request) const;

  std::set<std::string> hosts_;
  std::string token_, csrf_;
};

// Throws where an address other than loopback has no token.
void check_address(const ServeOptions& options);
std::string random_token();  // 32 hexadecimal digits of the kernel's
// What every answer says: the content security policy and its relatives.
httplib::Headers safe_headers();
constexpr const char* kCookie = "mdsm_token";

}  // namespace mdsm::serve
