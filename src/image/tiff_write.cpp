// TIFF through libtiff, written: packed without loss, in strips, one page.
#include "core/error.h"
#include "image/codecs.h"
#include "image/tiff_handle.h"

namespace mdsm::image {
namespace {

void describe(TIFF* tiff, const FileImage& image, const std::map<std::string, std::string>& text) {
  TIFFSetField(tiff, TIFFTAG_IMAGEWIDTH, static_cast<uint32_t>(image.width));
  TIFFSetField(tiff, TIFFTAG_IMAGELENGTH, static_cast<uint32_t>(image.height));
  TIFFSetField(tiff, TIFFTAG_BITSPERSAMPLE, image.bits());
  TIFFSetField(tiff, TIFFTAG_SAMPLESPERPIXEL, static_cast<int>(image.channels));
  TIFFSetField(tiff, TIFFTAG_PHOTOMETRIC, image.colours() == 3 ? PHOTOMETRIC_RGB : PHOTOMETRIC_MINISBLACK);
  TIFFSetField(tiff, TIFFTAG_PLANARCONFIG, PLANARCONFIG_CONTIG);
  TIFFSetField(tiff, TIFFTAG_COMPRESSION, COMPRESSION_ADOBE_DEFLATE);
  TIFFSetField(tiff, TIFFTAG_PREDICTOR, PREDICTOR_HORIZONTAL);
  TIFFSetField(tiff, TIFFTAG_ROWSPERSTRIP, TIFFDefaultStripSize(tiff, 0));
  TIFFSetField(tiff, TIFFTAG_SOFTWARE, "mdsm");
  const uint16_t alpha = image.premultiplied ? EXTRASAMPLE_ASSOCALPHA : EXTRASAMPLE_UNASSALPHA;
  if (image.has_alpha()) TIFFSetField(tiff, TIFFTAG_EXTRASAMPLES, 1, &alpha);
  if (profile_fits(image.profile, image.colours()))
    TIFFSetField(tiff, TIFFTAG_ICCPROFILE, static_cast<uint32_t>(image.profile.size()), image.profile.data());
  std::string lines;
  for (const auto& [key, value] : text) lines += fmt::format("{}: {}\n", key, value);
  if (!lines.empty()) TIFFSetField(tiff, TIFFTAG_IMAGEDESCRIPTION, lines.c_str());
}

}  // namespace

void write_tiff(const fs::path& path, const FileImage& image,
                const std::map<std::string, std::string>& text) {
  check_image_size(image.width, image.height, image.channels * image.bits() / 8, path.string());
  TiffHandle handle;
  if (!handle.get()) throw std::bad_alloc();
  describe(handle.get(), image, text);
  const int64_t row = image.width * image.channels * image.bits() / 8;
  // The predictor works in the row it is given.
  std::vector<std::byte> copy(static_cast<size_t>(row));
  const auto* from = static_cast<const std::byte*>(image.data());
  bool good = true;
  for (int64_t y = 0; good && y < image.height; ++y) {
    copy.assign(from + y * row, from + (y + 1) * row);
    good = TIFFWriteScanline(handle.get(), copy.data(), static_cast<uint32_t>(y), 0) >= 0;
  }
  good = good && TIFFFlush(handle.get());
  handle.close();
  if (!good || !handle.problem().empty())
    fail("free some memory", "{}: out of memory while it was encoded as TIFF ({})", path.string(),
         handle.problem());
  write_file(path, handle.written());
}

}  // namespace mdsm::image
