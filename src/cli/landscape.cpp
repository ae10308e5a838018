// mdsm landscape: the energy between pictures, along a line and on a plane.
#include "app/landscape.h"

#include "cli/command.h"
#include "cli/show.h"
#include "core/stop_flag.h"

namespace mdsm::cli {
namespace {

class Landscape : public Command {
 public:
  const char* name() const override { return "landscape"; }
  const char* summary() const override { return "Energy between pictures: along a line and on a plane"; }

  void declare(OptionSet& options) override {
    options.group("Pictures");
    options.add("images", job_.images, "two pictures, or three that lay the plane")
        .meta("IMAGES")
        .positional();
    job_.use.declare_model(options);
    options.group("Landscape");
    options.add("points", job_.points, "energies along the line from the first picture to the second")
        .range(2, 100000);
    options.add("grid", job_.grid, "energies along each side of the plane").range(2, 1000);
    options.add("chains", job_.chains, "Langevin chains that start at each picture").range(0, 1000);
    options.add("steps", job_.steps, "of each chain").range(1, 1e6);
    options.add("eps", job_.eps, "step size of the chains").range(1e-6, 10);
    options.add("temperature", job_.temperature, "of the chains").range(0, 1e6);
    options.add("seed", job_.seed, "of the chains, and of the direction of a plane through two pictures")
        .range(0, 9e15);
    job_.use.declare_engine(options);
    options.group("Output");
    options.add("out", job_.out, "a JSON file with all energies and ways").meta("FILE");
    options.add("force", job_.force, "replace it where it exists").command_line_only();
    options.example("mdsm landscape shoe.png shirt.png --model fashion-mnist");
    options.example("mdsm landscape a.png b.png c.png --model fashion-mnist --grid 51 --out landscape.json");
  }

  int run(OptionSet&) override {
    const StopFlag stop;
    const app::Landscape found = app::run_landscape(job_, stop.flag());
    show(found, as_json);
    return 0;
  }

 private:
  app::LandscapeOptions job_;
};

}  // namespace

std::unique_ptr<Command> make_landscape() { return std::make_unique<Landscape>(); }

}  // namespace mdsm::cli
