// The bundled denoiser that pictures of one's own get where no model is named.
#pragma once

#include <string>

#include "app/picture_work.h"

namespace mdsm::app {

// photos, or photos-grey where the first picture that can be read is grey or is turned to grey.
std::string photo_model(const PictureOptions& pictures);

}  // namespace mdsm::app
