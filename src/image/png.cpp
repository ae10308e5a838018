// PNG through libpng. libpng reports errors by longjmp, so the functions that call setjmp own nothing with a
// destructor: all memory hangs in a state object of the caller.
#include <png.h>

#include <algorithm>
#include <csetjmp>
#include <cstring>
#include <new>

#include "core/error.h"
#include "image/codecs.h"
#include "image/exif.h"
#include "image/packing.h"

namespace mdsm::image {
namespace {

struct PngState {
  png_structp png = nullptr;
  png_infop info = nullptr;
  std::string problem;
  FileBytes input;
  size_t position = 0;
  std::vector<std::byte> output;
  FileImage::Values pixels;
  png_uint_32 width = 0, height = 0;
  int passes = 1;     // of an interlaced file, seven
  int64_t bits = 0;   // of a pixel in the file
  bool deep = false;  // 16 bits a value, in the file and as decoded
  int channels = 0;   // as decoded: 1 grey, 2 grey + alpha, 3 RGB, 4 RGB + alpha
};

png_bytep data_of(FileImage::Values& values) {
  return std::visit([](auto& v) { return reinterpret_cast<png_bytep>(v.data()); }, values);
}

[[noreturn]] void on_error(png_structp png, png_const_charp message) {
  static_cast<PngState*>(png_get_error_ptr(png))->problem = message;
  png_longjmp(png, 1);
}

void on_warning(png_structp, png_const_charp) {}  // what libpng only warns about does not touch the pixels

void read_input(png_structp png, png_bytep out, size_t bytes) {
  auto& state = *static_cast<PngState*>(png_get_io_ptr(png));
  if (bytes > state.input.size() - state.position) png_error(png, "the file ends too early");
  std::memcpy(out, state.input.data() + state.position, bytes);
  state.position += bytes;
}

void write_output(png_structp png, png_bytep data, size_t bytes) {
  auto& output = static_cast<PngState*>(png_get_io_ptr(png))->output;
  const auto* begin = reinterpret_cast<const std::byte*>(data);
  bool stored = true;
  try {
    output.insert(output.end(), begin, begin + bytes);
  } catch (const std::bad_alloc&) {
    stored = false;  // exceptions must not travel through libpng
  }
  if (!stored) png_error(png, "out of memory");
}

uint32_t big_endian(const std::byte* at) {
  return uint32_t(at[0]) << 24 | uint32_t(at[1]) << 16 | uint32_t(at[2]) << 8 | uint32_t(at[3]);
}

// What of the file says anything about pixels: critical chunks and tRNS. libpng keeps the others, and
// believes the lengths they claim.
std::vector<std::byte> pixel_chunks(FileBytes file, const std::string& name) {
  constexpr size_t kSignature = 8, kAround = 12;  // length, type and checksum of a chunk
  std::vector<std::byte> kept(file.begin(), file.begin() + kSignature);
  kept.reserve(file.size());
  for (size_t at = kSignature; file.size() - at >= kAround;) {
    const size_t length = big_endian(file.data() + at), whole = kAround + length;
    if (whole > file.size() - at) break;
    const std::string_view type(reinterpret_cast<const char*>(file.data()) + at + 4, 4);
    const bool critical = (type[0] & 0x20) == 0;
    if (critical || type == "tRNS")
      kept.insert(kept.end(), file.begin() + static_cast<std::ptrdiff_t>(at),
                  file.begin() + static_cast<std::ptrdiff_t>(at + whole));
    if (type == "IEND") return kept;
    at += whole;
  }
  fail("use another copy of the file", "{}: damaged PNG file: the file ends too early", name);
}

// The content of the first chunk of this kind that is whole; empty where there is none.
FileBytes find_png_chunk(FileBytes file, std::string_view wanted) {
  for (size_t at = 8; file.size() > at && file.size() - at >= 12;) {
    const size_t length = big_endian(file.data() + at);
    if (length > file.size() - at - 12) break;
    const std::string_view type(reinterpret_cast<const char*>(file.data()) + at + 4, 4);
    if (type == wanted) return file.subspan(at + 8, length);
    if (type == "IEND") break;
    at += 12 + length;
  }
  return {};
}

// Palettes to RGB, transparency to an alpha channel; 16 bits rounded to 8 unless they are to be kept. Where
// no pixels are kept, values stay as the file packs them.
bool read_header(PngState& state, bool keep_depth, Keep keep) {
  if (setjmp(png_jmpbuf(state.png))) return false;
  png_set_user_limits(state.png, kMaxSide, kMaxSide);
  png_set_read_fn(state.png, &state, read_input);
  png_read_info(state.png, state.info);
  state.width = png_get_image_width(state.png, state.info);
  state.height = png_get_image_height(state.png, state.info);
  state.bits = int64_t{png_get_bit_depth(state.png, state.info)} * png_get_channels(state.png, state.info);
  state.deep = keep_depth && png_get_bit_depth(state.png, state.info) == 16;
  if (keep == Keep::pixels) png_set_expand(state.png);
  if (state.deep)
    png_set_swap(state.png);  // files have the high byte first
  else if (keep == Keep::pixels)
    png_set_scale_16(state.png);
  state.passes = png_set_interlace_handling(state.png);
  png_read_update_info(state.png, state.info);
  state.channels = png_get_channels(state.png, state.info);
  return true;
}

// What is not kept goes to one row again and again.
bool read_pixels(PngState& state, Keep keep) {
  if (setjmp(png_jmpbuf(state.png))) return false;
  const size_t row_bytes = png_get_rowbytes(state.png, state.info);
  const auto row = static_cast<int64_t>(row_bytes / (state.deep ? 2 : 1));
  reserve(state.pixels, row * (keep == Keep::pixels ? state.height : 1));
  for (int pass = 0; pass < state.passes; ++pass)
    for (int64_t y = 0; y < state.height; ++y) {
      const int64_t at = keep == Keep::pixels ? y : 0;
      grow(state.pixels, (at + 1) * row);
      png_read_row(state.png, data_of(state.pixels) + static_cast<size_t>(at) * row_bytes, nullptr);
    }
  png_read_end(state.png, state.info);
  return true;
}

struct ReadGuard {
  PngState& state;
  ~ReadGuard() { png_destroy_read_struct(&state.png, &state.info, nullptr); }
};

struct WriteGuard {
  PngState& state;
  ~WriteGuard() { png_destroy_write_struct(&state.png, &state.info); }
};

int colour_type(const FileImage& image) {
  return (image.colours() == 3 ? PNG_COLOR_MASK_COLOR : 0) | (image.has_alpha() ? PNG_COLOR_MASK_ALPHA : 0);
}

// packed_profile: the content of an iCCP chunk, or nothing. libpng would judge it; it is passed on as it is.
bool encode(PngState& state, const FileImage& image, const std::vector<png_text>& text,
            const std::string& packed_profile) {
  if (setjmp(png_jmpbuf(state.png))) return false;
  png_set_write_fn(state.png, &state, write_output, nullptr);
  png_set_IHDR(state.png, state.info, static_cast<png_uint_32>(image.width),
               static_cast<png_uint_32>(image.height), image.bits(), colour_type(image), PNG_INTERLACE_NONE,
               PNG_COMPRESSION_TYPE_DEFAULT, PNG_FILTER_TYPE_DEFAULT);
  if (!text.empty()) png_set_text(state.png, state.info, text.data(), static_cast<int>(text.size()));
  png_write_info(state.png, state.info);
  if (!packed_profile.empty())
    png_write_chunk(state.png, reinterpret_cast<png_const_bytep>("iCCP"),
                    reinterpret_cast<png_const_bytep>(packed_profile.data()), packed_profile.size());
  if (image.bits() == 16) png_set_swap(state.png);
  const auto* row = static_cast<const uint8_t*>(image.data());
  for (int64_t y = 0; y < image.height; ++y, row += image.width * image.channels * image.bits() / 8)
    png_write_row(state.png, row);
  png_write_end(state.png, nullptr);
  return true;
}

// tEXt holds Latin-1 alone, so anything beyond ASCII goes to an iTXt chunk.
std::vector<png_text> text_chunks(const std::map<std::string, std::string>& text) {
  std::vector<png_text> chunks;
  for (const auto& [key, value] : text) {
    if (key.empty() || key.size() > 79)
      fail("use 1 to 79 characters", "'{}' cannot be a PNG text keyword", key);
    png_text chunk{};
    const bool ascii = std::all_of(value.begin(), value.end(), [](unsigned char c) { return c < 128; });
    chunk.compression = ascii ? PNG_TEXT_COMPRESSION_NONE : PNG_ITXT_COMPRESSION_NONE;
    chunk.key = const_cast<char*>(key.c_str());
    chunk.text = const_cast<char*>(value.c_str());
    (ascii ? chunk.text_length : chunk.itxt_length) = value.size();
    chunks.push_back(chunk);
  }
  return chunks;
}

// The decoded values, still with alpha, in state.pixels; or only whether the file is whole.
void decode(PngState& state, FileBytes chunks, size_t file_bytes, bool keep_depth, Keep keep,
            const std::string& name) {
  state.input = chunks;
  state.png = png_create_read_struct(PNG_LIBPNG_VER_STRING, &state, on_error, on_warning);
  if (state.png) state.info = png_create_info_struct(state.png);
  if (!state.info) throw std::bad_alloc();
  const auto check = [&](bool good) {
    if (!good) fail("use another copy of the file", "{}: damaged PNG file: {}", name, state.problem);
  };
  check(read_header(state, keep_depth, keep));
  check_read_size(state.width, state.height, name);
  constexpr int64_t kMaxDeflateRatio = 1100;  // deflate cannot do better than 1032 to 1
  if (int64_t{state.width} * state.height * state.bits / 8 >
      static_cast<int64_t>(file_bytes) * kMaxDeflateRatio)
    fail("use another copy of the file", "{}: damaged PNG file: {} bytes cannot hold {}x{} pixels", name,
         file_bytes, state.width, state.height);
  const int64_t pixel_bytes = int64_t{state.width} * state.height * state.channels * (state.deep ? 2 : 1);
  if (keep == Keep::pixels && packed_much(pixel_bytes, file_bytes)) {
    PngState first;
    const ReadGuard guard{first};
    decode(first, chunks, file_bytes, false, Keep::nothing, name);
  }
  if (state.deep) state.pixels = std::vector<uint16_t>();
  check(read_pixels(state, keep));
}

int orientation_of(FileBytes file) {
  const FileBytes exif = find_png_chunk(file, "eXIf");
  return exif.empty() ? 1 : exif_orientation(exif);
}

constexpr std::string_view kProfileName("ICC profile\0\0", 13);  // its end, and how it is packed

// An iCCP chunk is a name, how the profile is packed, and the packed profile. One that is damaged is left
// out.
std::string profile_of(FileBytes file) {
  const FileBytes chunk = find_png_chunk(file, "iCCP");
  const auto end = std::ranges::find(chunk, std::byte{0});
  if (chunk.end() - end < 3) return "";
  return unpacked(FileBytes(end + 2, chunk.end()), kMaxProfile);
}

}  // namespace

FileImage decode_png(FileBytes file, const std::string& name, Depth depth) {
  const std::vector<std::byte> chunks = pixel_chunks(file, name);
  PngState state;
  const ReadGuard guard{state};
  decode(state, chunks, file.size(), depth == Depth::own, Keep::pixels, name);
  FileImage image{state.width, state.height, state.channels};
  image.orientation = orientation_of(file);
  image.profile = profile_of(file);
  image.values = std::move(state.pixels);
  return image;
}

void write_png(const fs::path& path, const FileImage& image, const std::map<std::string, std::string>& text) {
  check_image_size(image.width, image.height, image.channels * image.bits() / 8, path.string());
  const auto chunks = text_chunks(text);
  std::string profile;
  if (profile_fits(image.profile, image.colours()))
    profile = std::string(kProfileName) + packed(image.profile);
  PngState state;
  const WriteGuard guard{state};
  state.png = png_create_write_struct(PNG_LIBPNG_VER_STRING, &state, on_error, on_warning);
  if (state.png) state.info = png_create_info_struct(state.png);
  if (!state.info) throw std::bad_alloc();
  // All of it goes to memory, so nothing else can be amiss; libpng may say "too many text chunks".
  if (!encode(state, image, chunks, profile))
    fail("free some memory", "{}: out of memory while it was encoded as PNG ({})", path.string(),
         state.problem);
  write_file(path, state.output);
}

void write_png(const fs::path& path, const Image& image, const std::map<std::string, std::string>& text) {
  write_png(path, FileImage{image.width, image.height, image.channels, image.pixels}, text);
}

}  // namespace mdsm::image
