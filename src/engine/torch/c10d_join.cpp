#include "engine/torch/c10d_join.h"

#include <arpa/inet.h>
#include <netdb.h>
#include <sys/socket.h>
#include <unistd.h>
#include <torch/csrc/distributed/c10d/PrefixStore.hpp>
#include <torch/csrc/distributed/c10d/TCPStore.hpp>

#include <cstdlib>

#include "core/error.h"
#include "core/json.h"
#include "engine/torch/c10d_watch.h"

namespace mdsm::engine {
namespace {

using distributed::Launch;
using nlohmann::json;

constexpr const char* kVerdict = "all_here";

std::chrono::milliseconds milliseconds(double seconds) {
  return std::chrono::milliseconds(static_cast<int64_t>(seconds * 1000));
}
json parsed(const std::vector<uint8_t>& bytes) {
  return parse_json({reinterpret_cast<const char*>(bytes.data()), bytes.size()});
}
// Of what another rank has sent: a text, or none.
std::string text_of(const json& values, const char* key) {
  return values.is_object() && values.contains(key) && values.at(key).is_string()
             ? json_value<std::string>(values.at(key))
             : "";
}
std::string here(int rank) { return fmt::format("here/{}", rank); }

std::string first_line(const std::string& text) { return text.substr(0, text.find('\n')); }

// The address of this host as rank 0's host sees it: that of a datagram socket pointed there, which sends
// nothing.
std::string own_address(const Launch& launch) {
  addrinfo hints = {}, *found = nullptr;
  hints.ai_socktype = SOCK_DGRAM;
  if (::getaddrinfo(launch.host.c_str(), std::to_string(launch.port).c_str(), &hints, &found) != 0) return "";
  std::string address;
  if (const int descriptor = ::socket(found->ai_family, SOCK_DGRAM, 0); descriptor >= 0) {
    sockaddr_storage own = {};
    socklen_t length = sizeof own;
    char text[NI_MAXHOST] = {};
    if (::connect(descriptor, found->ai_addr, found->ai_addrlen) == 0 &&
        ::getsockname(descriptor, reinterpret_cast<sockaddr*>(&own), &length) == 0 &&
        ::getnameinfo(reinterpret_cast<sockaddr*>(&own), length, text, sizeof text, nullptr, 0,
                      NI_NUMERICHOST) == 0)
      address = text;
    ::close(descriptor);
  }
  ::freeaddrinfo(found);
  return address;
}

bool is_loopback(const std::string& address) { return address.starts_with("127.") || address == "::1"; }

std::string interface_name() {
  const char* name = std::getenv("GLOO_SOCKET_IFNAME");
  return name ? name : "";
}

std::string ranks_text(const std::vector<int>& ranks) {
  return fmt::format("rank{} {}", ranks.size() == 1 ? "" : "s", fmt::join(ranks, ", "));
}

// What rank 0 finds wrong with the others; empty where nothing is.
std::string verdict_on(c10d::Store& store, const Launch& launch, const json& own) {
  std::vector<std::string> keys;
  for (int rank = 0; rank < launch.size; ++rank) keys.push_back(here(rank));
  try {
    store.wait(keys, milliseconds(launch.join_seconds));
  } catch (const std::exception&) {
    std::vector<int> missing;
    for (int rank = 0; rank < launch.size; ++rank)
      if (!store.check({here(rank)})) missing.push_back(rank);
    if (!missing.empty())
      return fmt::format(
          "{} of {} did not come within {:.0f} s; start all of them, with the same MASTER_ADDR and "
          "MASTER_PORT",
          ranks_text(missing), launch.size, launch.join_seconds);
  }
  bool other_hosts = false;
  for (int rank = 1; rank < launch.size; ++rank) {
    const json other = parsed(store.get(here(rank)));
    for (const char* key : {"version", "processes"})
      if (!other.is_object() || other.value(key, json()) != own.at(key))
        return fmt::format("rank {} has {} {}, rank 0 has {}; start the same program with the same numbers",
                           rank, key, other.is_object() ? json_text(other.value(key, json())) : "?",
                           json_text(own.at(key)));
    other_hosts = other_hosts || !is_loopback(text_of(other, "address"));
  }
  if (other_hosts && is_loopback(own.at("address").get<std::string>()) && interface_name().empty())
    return fmt::format(
        "rank 0 takes {} for its address, which other hosts cannot reach; set MASTER_ADDR to another one, or "
        "GLOO_SOCKET_IFNAME to the name of a network interface",
        own.at("address").get<std::string>());
  return "";
}

void come(c10d::Store& store, const Launch& launch, const json& own) {
  if (store.add(fmt::format("count/{}", launch.rank), 1) > 1)
    fail_usage("give every process another RANK, and jobs of one machine another MASTER_PORT",
               "rank {} is there twice", launch.rank);
  store.set(sign_of_life(launch.rank), bytes("0"));
  store.set(here(launch.rank), bytes(json_text(own)));
}

// LibTorch 2 would have libuv serve the store, which it may have been built without (Debian 13).
template <class Options>
void use_plain_server(Options& options) {
  if constexpr (requires { options.useLibUV; }) options.useLibUV = false;
}

}  // namespace

c10::intrusive_ptr<c10d::Store> open_store(const Launch& launch, bool host) {
  c10d::TCPStoreOptions options;
  options.port = static_cast<uint16_t>(launch.port);
  options.isServer = host && launch.rank == 0 && !launch.store_is_there;
  options.waitWorkers = false;
  options.timeout = milliseconds(launch.join_seconds);
  use_plain_server(options);
  try {
    auto store = c10::make_intrusive<c10d::TCPStore>(launch.host, options);
    store->setTimeout(milliseconds(launch.peer_seconds));
    return c10::make_intrusive<c10d::PrefixStore>(launch.prefix, store);
  } catch (const std::exception& error) {
    const std::string what = first_line(error.what());
    if (options.isServer)
      fail(what.find("in use") != std::string::npos || what.find("EADDRINUSE") != std::string::npos
               ? "another job uses it: choose another MASTER_PORT"
               : "MASTER_PORT must be free on the host of rank 0",
           "port {} cannot be opened: {}", launch.port, what);
    fail("check that rank 0 runs, and MASTER_ADDR and MASTER_PORT",
         "rank 0 cannot be reached at {}:{} within {:.0f} s", launch.host, launch.port, launch.join_seconds);
  }
}

c10::intrusive_ptr<c10d::Store> join(const Launch& launch, const std::string& version) {
  auto store = open_store(launch, true);
  const json own = {{"version", version}, {"processes", launch.size}, {"address", own_address(launch)}};
  come(*store, launch, own);
  if (launch.rank == 0)
    store->set(kVerdict,
               bytes(json_text({{"processes", launch.size}, {"wrong", verdict_on(*store, launch, own)}})));
  json verdict;
  try {
    store->wait({kVerdict}, milliseconds(launch.join_seconds * 1.5 + 5));
    verdict = parsed(store->get(kVerdict));
  } catch (const std::exception&) {
    fail("check that it runs", "rank 0 at {}:{} has gone away before all were there", launch.host,
         launch.port);
  }
  const json processes = verdict.is_object() ? verdict.value("processes", json()) : json();
  if (processes != launch.size)
    fail_usage("give all processes the same WORLD_SIZE",
               "rank {} was started as one of {} processes, rank 0 as one of {}", launch.rank, launch.size,
               json_text(processes));
  if (const std::string wrong = text_of(verdict, "wrong"); !wrong.empty()) {
    // The store must not go away before all have read what it says.
    store->add("verdict_read", 1);
    if (launch.rank == 0)
      for (int i = 0; i < 40 && store->add("verdict_read", 0) < launch.size; ++i) ::usleep(50'000);
    fail_usage("", "{}", wrong);
  }
  return store;
}

c10::intrusive_ptr<c10d::ProcessGroupGloo> connect(const Launch& launch,
                                                   const c10::intrusive_ptr<c10d::Store>& store) {
  const std::string interface = interface_name(), address = own_address(launch);
  try {
    auto options = c10d::ProcessGroupGloo::Options::create(milliseconds(launch.join_seconds));
    options->threads = 1;
    options->devices.push_back(interface.empty()
                                   ? c10d::ProcessGroupGloo::createDeviceForHostname(address)
                                   : c10d::ProcessGroupGloo::createDeviceForInterface(interface));
    return c10::make_intrusive<c10d::ProcessGroupGloo>(store, launch.rank, launch.size, options);
  } catch (const std::exception& error) {
    fail("set GLOO_SOCKET_IFNAME to the network interface between the hosts",
         "the processes cannot reach each other (this one from {}): {}",
         interface.empty() ? address : interface, first_line(error.what()));
  }
}

}  // namespace mdsm::engine
