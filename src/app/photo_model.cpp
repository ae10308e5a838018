#include "app/photo_model.h"

#include "core/error.h"

namespace mdsm::app {
namespace {

// Damaged pictures are PictureWork's to report.
bool first_is_grey(const data::Pictures& pictures) {
  for (size_t i = 0; i < pictures.size(); ++i) try {
      return pictures.read(i).shape.c == 1;
    } catch (const Error&) {
    }
  return false;
}

}  // namespace

std::string photo_model(const PictureOptions& pictures) {
  const data::Colour colour = pictures.data.colour;
  const bool grey = colour == data::Colour::grey ||
                    (colour == data::Colour::keep && first_is_grey(data::list_pictures(pictures.images)));
  return grey ? "photos-grey" : "photos";
}

}  // namespace mdsm::app
