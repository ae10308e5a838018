// Several functions as one, for std::visit.
#pragma once

namespace mdsm {

template <class... Ts>
struct Overload : Ts... {
  using Ts::operator()...;
};
template <class... Ts>
Overload(Ts...) -> Overload<Ts...>;

}  // namespace mdsm
