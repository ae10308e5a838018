// TIFF through libtiff, read: the first and only page, grey or RGB with or without transparency, of 8 or 16
// bits. What else there is in the world of TIFF is refused by name.
#include <algorithm>
#include <cstring>

#include "core/error.h"
#include "image/codecs.h"
#include "image/tiff_handle.h"

namespace mdsm::image {
namespace {

// A small file that claims much more than deflate and LZW can pack is damaged.
constexpr int64_t kAlwaysTried = int64_t{64} << 20, kMaxRatio = 3000;
constexpr tmsize_t kMaxTile = tmsize_t{256} << 20;
// Writers keep one size of tiles for pictures of all sizes; what is much more is there to take memory.
constexpr tmsize_t kUsualTile = tmsize_t{16} << 20, kTileRatio = 2;

class TiffReader {
 public:
  TiffReader(FileBytes file, const std::string& name) : bytes_(file.size()), handle_(file), name_(name) {
    if (!handle_.get()) damaged();
  }

  FileImage read() {
    read_kind();
    check_size();
    FileImage image{width_, height_, channels_};
    if (bits_ == 16) image.values = std::vector<uint16_t>();
    const bool before = handle_.warned();
    const auto read_all = [&](FileImage::Values* to) {
      TIFFIsTiled(handle_.get()) ? read_tiles(to) : read_rows(to);
    };
    if (packed_much(image_bytes(), bytes_)) read_all(nullptr);
    reserve(image.values, width_ * height_ * channels_);
    read_all(&image.values);
    // Some decoders fill in what is missing and merely warn.
    if (handle_.warned() && !before) damaged();
    if (inverted_) invert(image);
    image.orientation = std::clamp<int>(handle_.field<uint16_t>(TIFFTAG_ORIENTATION, 1), 1, 8);
    image.premultiplied = premultiplied_;
    read_profile(image);
    return image;
  }

 private:
  [[noreturn]] void damaged() const { fail("use another copy of the file", "{}: damaged TIFF file", name_); }
  [[noreturn]] void refuse(const std::string& what) const {
    fail("convert it to grey or RGB of 8 or 16 bits, one page", "{}: a TIFF file {}, which is not read",
         name_, what);
  }

  void read_kind() {
    uint32_t width = 0, height = 0;
    if (!TIFFGetField(handle_.get(), TIFFTAG_IMAGEWIDTH, &width) ||
        !TIFFGetField(handle_.get(), TIFFTAG_IMAGELENGTH, &height))
      damaged();
    width_ = width, height_ = height;
    bits_ = handle_.field<uint16_t>(TIFFTAG_BITSPERSAMPLE, 1);
    channels_ = handle_.field<uint16_t>(TIFFTAG_SAMPLESPERPIXEL, 1);
    separate_ = handle_.field<uint16_t>(TIFFTAG_PLANARCONFIG, PLANARCONFIG_CONTIG) == PLANARCONFIG_SEPARATE;
    if (!TIFFLastDirectory(handle_.get())) refuse("of several pages");
    if (bits_ != 8 && bits_ != 16) refuse(fmt::format("of {} bits a value", bits_));
    if (handle_.field<uint16_t>(TIFFTAG_SAMPLEFORMAT, SAMPLEFORMAT_UINT) != SAMPLEFORMAT_UINT)
      refuse("of signed or floating-point values");
    read_colours();
    read_alpha();
  }

  void read_colours() {
    uint16_t kind = 0;
    if (!TIFFGetField(handle_.get(), TIFFTAG_PHOTOMETRIC, &kind)) damaged();
    const bool packed = handle_.field<uint16_t>(TIFFTAG_COMPRESSION, 1) == COMPRESSION_JPEG;
    if (packed && kind == PHOTOMETRIC_YCBCR) {
      TIFFSetField(handle_.get(), TIFFTAG_JPEGCOLORMODE, JPEGCOLORMODE_RGB);
      kind = PHOTOMETRIC_RGB;
    }
    inverted_ = kind == PHOTOMETRIC_MINISWHITE;
    colours_ = kind == PHOTOMETRIC_RGB ? 3 : 1;
    if (kind != PHOTOMETRIC_RGB && kind != PHOTOMETRIC_MINISBLACK && !inverted_)
      refuse(kind == PHOTOMETRIC_PALETTE ? "with a palette" : fmt::format("of colours of kind {}", kind));
  }

  void read_alpha() {
    uint16_t count = 0, *kinds = nullptr;
    TIFFGetFieldDefaulted(handle_.get(), TIFFTAG_EXTRASAMPLES, &count, &kinds);
    if (channels_ == colours_) return;
    if (channels_ != colours_ + 1 || count > 1) refuse(fmt::format("of {} channels", channels_));
    premultiplied_ = count == 1 && kinds[0] == EXTRASAMPLE_ASSOCALPHA;
  }

  void check_size() const {
    check_read_size(width_, height_, name_);
    const int64_t bytes = image_bytes();
    if (bytes > kAlwaysTried && bytes > static_cast<int64_t>(bytes_) * kMaxRatio)
      fail("use another copy of the file", "{}: damaged TIFF file: {} bytes cannot hold {}x{} pixels", name_,
           bytes_, width_, height_);
  }

  int64_t value_bytes() const { return bits_ / 8; }
  int64_t image_bytes() const { return width_ * height_ * channels_ * value_bytes(); }

  // A row of a part of the image, or of one of its planes, to its place; or nowhere.
  void put(const std::byte* from, int64_t x, int64_t y, int64_t count, int64_t plane,
           FileImage::Values* to) const {
    if (!to) return;
    grow(*to, (y + 1) * width_ * channels_);
    std::byte* at = std::visit([](auto& v) { return reinterpret_cast<std::byte*>(v.data()); }, *to) +
                    (y * width_ + x) * channels_ * value_bytes();
    if (!separate_) {
      std::memcpy(at, from, static_cast<size_t>(count * channels_ * value_bytes()));
      return;
    }
    at += plane * value_bytes();
    for (int64_t i = 0; i < count; ++i, from += value_bytes(), at += channels_ * value_bytes())
      std::memcpy(at, from, static_cast<size_t>(value_bytes()));
  }

  int64_t planes() const { return separate_ ? channels_ : 1; }
  int64_t together() const { return separate_ ? 1 : channels_; }  // values of a pixel that lie together

  void read_rows(FileImage::Values* to) {
    const int64_t wanted = width_ * together() * value_bytes();
    if (TIFFScanlineSize(handle_.get()) != wanted) refuse("of an unusual layout");
    std::vector<std::byte> row(static_cast<size_t>(wanted));
    for (int64_t plane = 0; plane < planes(); ++plane)
      for (int64_t y = 0; y < height_; ++y) {
        if (TIFFReadScanline(handle_.get(), row.data(), static_cast<uint32_t>(y),
                             static_cast<uint16_t>(plane)) < 0)
          damaged();
        put(row.data(), 0, y, width_, plane, to);
      }
  }

  void read_tiles(FileImage::Values* to) {
    uint32_t wide = 0, high = 0;
    if (!TIFFGetField(handle_.get(), TIFFTAG_TILEWIDTH, &wide) ||
        !TIFFGetField(handle_.get(), TIFFTAG_TILELENGTH, &high) || wide == 0 || high == 0)
      damaged();
    const tmsize_t size = TIFFTileSize(handle_.get()), row = TIFFTileRowSize(handle_.get());
    if (row != int64_t{wide} * together() * value_bytes()) refuse("of an unusual layout");
    if (size > kMaxTile || size != row * static_cast<tmsize_t>(high)) refuse("of very large tiles");
    if (size > std::max(kUsualTile, kTileRatio * image_bytes()))
      refuse(fmt::format("of {}x{} pixels in tiles of {}x{}", width_, height_, wide, high));
    std::vector<std::byte> tile(static_cast<size_t>(size));
    for (int64_t plane = 0; plane < planes(); ++plane)
      for (int64_t y = 0; y < height_; y += high)
        for (int64_t x = 0; x < width_; x += wide) {
          if (TIFFReadTile(handle_.get(), tile.data(), static_cast<uint32_t>(x), static_cast<uint32_t>(y), 0,
                           static_cast<uint16_t>(plane)) < 0)
            damaged();
          for (int64_t k = 0; k < std::min<int64_t>(high, height_ - y); ++k)
            put(tile.data() + k * row, x, y + k, std::min<int64_t>(wide, width_ - x), plane, to);
        }
  }

  // White is 0: turned round, but for transparency.
  void invert(FileImage& image) const {
    std::visit(
        [&](auto& values) {
          for (size_t i = 0; i < values.size(); ++i)
            if (static_cast<int64_t>(i) % channels_ < colours_) values[i] = ~values[i];
        },
        image.values);
  }

  void read_profile(FileImage& image) const {
    uint32_t bytes = 0;
    void* data = nullptr;
    if (TIFFGetField(handle_.get(), TIFFTAG_ICCPROFILE, &bytes, &data) && bytes <= kMaxProfile)
      image.profile.assign(static_cast<const char*>(data), bytes);
  }

  size_t bytes_;
  TiffHandle handle_;
  const std::string& name_;
  int64_t width_ = 0, height_ = 0, channels_ = 0, colours_ = 0;
  int bits_ = 0;
  bool separate_ = false, inverted_ = false, premultiplied_ = false;
};

}  // namespace

FileImage decode_tiff(FileBytes file, const std::string& name, Depth depth) {
  FileImage image = TiffReader(file, name).read();
  if (const auto* deep = std::get_if<std::vector<uint16_t>>(&image.values); deep && depth == Depth::eight) {
    std::vector<uint8_t> rounded(deep->size());
    std::ranges::transform(*deep, rounded.begin(), [](uint32_t v) { return (v * 255 + 32767) / 65535; });
    image.values = std::move(rounded);
  }
  return image;
}

}  // namespace mdsm::image
