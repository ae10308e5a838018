// A result of a job to standard output, for people or as JSON.
#pragma once

#include "app/model_use.h"

namespace mdsm::cli {

template <class Result>
void show(const Result& result, bool json) {
  if (json)
    app::print_json(to_json(result));
  else
    print(result);
}

}  // namespace mdsm::cli
