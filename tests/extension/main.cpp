// The mdsm program with a sampler, an objective and a data source of one's own: each is one file beside this
// one, and the command line is that of mdsm.
#include "cli/program.h"

void add_descent_sampler();
void add_robust_objective();
void add_stripes_source();

int main(int argc, char** argv) {
  add_descent_sampler();
  add_robust_objective();
  add_stripes_source();
  return mdsm::cli::program(argc, argv);
}
