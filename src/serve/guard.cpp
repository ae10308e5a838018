#include "serve/guard.h"

#include <sys/random.h>

#include <algorithm>
#include <cctype>
#include <cstring>

#include "core/error.h"

namespace mdsm::serve {
namespace {

bool is_loopback(const std::string& address) {
  return address == "localhost" || address == "::1" || address.starts_with("127.");
}

// In a time that does not tell how much of it is right.
bool same(const std::string& given, const std::string& wanted) {
  unsigned char difference = given.size() != wanted.size();
  for (size_t i = 0; i < given.size() && !wanted.empty(); ++i)
    difference |= static_cast<unsigned char>(given[i] ^ wanted[i % wanted.size()]);
  return difference == 0;
}

std::string lower(std::string text) {
  std::ranges::transform(text, text.begin(), [](unsigned char c) { return std::tolower(c); });
  return text;
}

std::string cookie(const std::string& header) {
  const std::string name = std::string(kCookie) + "=";
  for (size_t first = 0; first < header.size();) {
    const size_t end = std::min(header.find(';', first), header.size());
    std::string one = header.substr(first, end - first);
    one.erase(0, std::min(one.find_first_not_of(' '), one.size()));
    if (one.starts_with(name)) return one.substr(name.size());
    first = end + 1;
  }
  return "";
}

bool is_json(const std::string& type) { return lower(type.substr(0, type.find(';'))) == "application/json"; }

bool changes(const std::string& method) { return method == "POST" || method == "DELETE"; }

}  // namespace

void check_address(const ServeOptions& options) {
  if (!options.token.empty() && options.token.size() < 16)
    fail_usage("use 16 characters or more, as openssl rand -hex 16 gives", "--token is too short to be safe");
  const auto plain = [](unsigned char c) { return std::isalnum(c) || std::strchr("-._~", c); };
  if (!std::ranges::all_of(options.token, plain))
    fail_usage("use letters, digits and -._~, as openssl rand -hex 16 gives",
               "--token has characters that mean something in an address or a cookie");
  if (options.token.empty() && !is_loopback(options.address))
    fail_usage("add --token with a secret of 16 characters or more, or leave --address out",
               "--address {} lets other machines in", options.address);
}

std::string random_token() {
  unsigned char bytes[16];
  if (getrandom(bytes, sizeof bytes, 0) != sizeof bytes)
    fail("try again", "the kernel gives no random bytes");
  std::string text;
  for (const unsigned char byte : bytes) text += fmt::format("{:02x}", byte);
  return text;
}

Guard::Guard(const ServeOptions& options, int port) : token_(options.token), csrf_(random_token()) {
  const bool v6 = options.address.find(':') != std::string::npos;
  std::vector<std::string> names = options.hosts;
  names.push_back(v6 ? "[" + options.address + "]" : options.address);
  if (is_loopback(options.address)) names.insert(names.end(), {"localhost", "127.0.0.1", "[::1]"});
  for (const std::string& name : names) {
    hosts_.insert(lower(name) + ":" + std::to_string(port));
    if (port == 80 || std::ranges::find(options.hosts, name) != options.hosts.end())
      hosts_.insert(lower(name));
  }
}

bool Guard::knows_host(std::string host) const { return hosts_.contains(lower(std::move(host))); }

bool Guard::is_token(const std::string& text) const { return wants_token() && same(text, token_); }

bool Guard::shows_token(const httplib::Request& request) const {
  const std::string bearer = "Bearer ", given = request.get_header_value("Authorization");
  return (given.starts_with(bearer) && is_token(given.substr(bearer.size()))) ||
         is_token(cookie(request.get_header_value("Cookie")));
}

std::optional<Refusal> Guard::refusal(const httplib::Request& request) const {
  const auto header = [&](const char* name) { return request.get_header_value(name); };
  if (request.get_header_value_count("Host") != 1 || !knows_host(header("Host")))
    return Refusal{421, "this server is not called by that name", "add the name with --host"};
  if (request.has_header("Origin") &&
      !(header("Origin").starts_with("http://") && knows_host(header("Origin").substr(7))))
    return Refusal{403, "asked by a page of another origin", "open the page of this server"};
  if (header("Sec-Fetch-Site") == "cross-site" && request.path != "/")
    return Refusal{403, "asked by a page of another site", "open the page of this server"};
  const bool changing = changes(request.method);
  if (!changing && request.method != "GET" && request.method != "HEAD")
    return Refusal{405, "unknown method " + request.method.substr(0, 16), "use GET, HEAD, POST or DELETE"};
  if (wants_token() && !shows_token(request))
    return Refusal{401, "no token, or a wrong one", "open the address that mdsm serve has printed"};
  if (request.has_header("Range"))
    return Refusal{416, "parts of files are not given out", "ask for the file"};
  if (!changing) {
    const bool body = request.has_header("Transfer-Encoding") ||
                      (request.has_header("Content-Length") && header("Content-Length") != "0");
    return body ? std::optional(Refusal{400, request.method + " with a body", "leave it out"}) : std::nullopt;
  }
  if (!is_json(header("Content-Type")) || request.has_header("Content-Encoding"))
    return Refusal{415, "the body must be JSON as it is", "send Content-Type: application/json"};
  if (!same(header("X-CSRF-Token"), csrf_))
    return Refusal{403, "no CSRF token, or a wrong one",
                   "send that of GET /api/session in the header X-CSRF-Token"};
  return std::nullopt;
}

httplib::Headers safe_headers() {
  return {{"Content-Security-Policy",
           "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data: blob:; "
           "connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"},
          {"X-Content-Type-Options", "nosniff"},
          {"X-Frame-Options", "DENY"},
          {"Referrer-Policy", "no-referrer"},
          {"Cross-Origin-Opener-Policy", "same-origin"},
          {"Cross-Origin-Resource-Policy", "same-origin"},
          {"Cache-Control", "no-store"}};
}

}  // namespace mdsm::serve
