// Networks that nobody would train: random lists of layers, with all that the vocabulary allows, for
// comparing engines.
#pragma once

#include <algorithm>
#include <map>
#include <string>
#include <vector>

#include "core/random.h"
#include "network/graph.h"

namespace mdsm::test {

// Every value is read by somebody. Images of 8x8 and up, whose sides are a multiple of 4, fit.
class NetworkMaker {
 public:
  NetworkMaker(uint64_t seed, int64_t channels)
      : random_(seed, Purpose::check, 77), net_(channels), channels_(channels) {}

  network::Graph make(network::Head head) {
    open_ = {net_.convolution(net_.image(), name(), width(), 3, chance(2))};
    const int64_t layers = 1 + static_cast<int64_t>(random_.below(16));
    for (int64_t i = 0; i < layers; ++i) grow();
    while (open_.size() > 1) join();
    int last = open_[0];
    while (halvings_[last] > 0 && network::is_image_head(head)) last = up(last);
    if (network::is_image_head(head)) last = net_.convolution(last, name(), channels_, 3, true);
    return net_.finish(head);
  }

 private:
  bool chance(uint64_t one_in) { return random_.below(one_in) == 0; }
  std::string name() { return "c" + std::to_string(names_++); }
  int64_t width() { return 1 + static_cast<int64_t>(random_.below(chance(3) ? 20 : 9)); }
  int64_t halvings(int value) { return halvings_[value]; }

  int note(int value, int64_t halvings) {
    halvings_[value] = halvings;
    return value;
  }
  int up(int value) { return note(net_.upsample(value), halvings(value) - 1); }
  int activation(int value) { return note(chance(2) ? net_.elu(value) : net_.silu(value), halvings(value)); }
  int convolution(int value) {
    return note(net_.convolution(value, name(), width(), chance(3) ? 1 : 3, chance(2)), halvings(value));
  }

  // One more layer on one of the open ends, which stays open too now and then.
  void grow() {
    const size_t at = random_.below(open_.size());
    const int from = open_[at];
    int to = -1;
    switch (random_.below(8)) {
      case 0:
        to = halvings(from) < 2 ? note(net_.pool(from), halvings(from) + 1) : convolution(from);
        break;
      case 1:
        to = halvings(from) > 0 ? up(from) : convolution(from);
        break;
      case 2:
      case 3:
        to = activation(from);
        break;
      case 4:  // a residual block
        to = note(net_.convolution(activation(from), name(), net_.channels(from), 3, chance(2)),
                  halvings(from));
        to = note(net_.add(to, from), halvings(from));
        break;
      default:
        to = convolution(from);
    }
    if (!chance(4)) open_.erase(open_.begin() + static_cast<int64_t>(at));
    open_.push_back(to);
  }

  // Two open ends become one.
  void join() {
    int a = open_.back();
    open_.pop_back();
    int b = open_.back();
    open_.pop_back();
    if (a == b) {
      open_.push_back(a);
      return;
    }
    while (halvings(a) > halvings(b)) a = up(a);
    while (halvings(b) > halvings(a)) b = up(b);
    if (net_.channels(a) != net_.channels(b) && chance(2))
      a = note(net_.convolution(a, name(), net_.channels(b), chance(2) ? 1 : 3, chance(2)), halvings(b));
    const int joined =
        net_.channels(a) == net_.channels(b) && !chance(4) ? net_.add(a, b) : net_.concatenate(a, b);
    open_.push_back(note(joined, halvings(a)));
  }

  RandomStream random_;
  network::GraphBuilder net_;
  int64_t channels_;
  int names_ = 0;
  std::vector<int> open_;
  std::map<int, int64_t> halvings_;
};

}  // namespace mdsm::test
