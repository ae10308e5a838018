// Denoises a picture: denoise PICTURE RESULT.png [MODEL]
// Without a compiler script: c++ -std=c++20 denoise.cpp $(pkg-config --cflags --libs mdsm) -o denoise
#include <mdsm/mdsm.h>
#include <algorithm>
#include <cstdio>
#include <cstdlib>

int main(int argc, char** argv) {
  if (argc < 3) {
    std::fprintf(stderr, "Usage: denoise PICTURE RESULT.png [MODEL]\n");
    return 2;
  }
  try {
    mdsm::Model model(argc > 3 ? argv[3] : "cifar10");
    // Networks of today take one size; fit() resizes and pads as `mdsm denoise` does.
    const mdsm::Tensor picture = model.fit(mdsm::read_picture(argv[1]));
    const mdsm::Denoised clean = model.denoise(picture);
    mdsm::write_png(argv[2], clean.images);
    std::printf("%s: noise of about %.3f taken out; energy %.1f\n", argv[2], clean.noise[0], clean.energy[0]);

    // The energy itself, and its gradient: one step downhill by hand is the same as denoise().
    std::vector<float> energy(1);
    mdsm::Tensor gradient(picture.shape());
    model.energy_and_gradient(picture, energy, gradient);
    double largest = 0;
    for (size_t k = 0; k < gradient.values().size(); ++k) {
      const double jump = picture.values()[k] - model.sigma0() * model.sigma0() * gradient.values()[k];
      largest = std::max(largest, std::abs(std::clamp(jump, 0.0, 1.0) - clean.images.values()[k]));
    }
    std::printf("x - sigma0^2 dE/dx differs from it by at most %.1e\n", largest);
  } catch (const mdsm::Error& error) {
    std::fprintf(stderr, "error: %s\n", error.what());
    return error.kind() == mdsm::ErrorKind::usage ? 2 : 1;
  }
}
