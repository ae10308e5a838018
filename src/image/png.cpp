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

namespace mdsm::image {
namespace {

struct PngState {
  png_structp png = nullptr;
  png_infop info = nullptr;
  std::string problem;
  std::span<const std::byte> input;
  size_t position = 0;
  std::vector<std::byte> output;
  std::vector<png_bytep> rows;
  std::vector<uint8_t> pixels;
  png_uint_32 width = 0, height = 0;
  int64_t bits = 0;   // of a pixel in the file
  bool deep = false;  // 16 bits a value, in the file and as decoded
  int channels = 0;   // as decoded: 1 grey, 2 grey + alpha, 3 RGB, 4 RGB + alpha
};

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
std::vector<std::byte> pixel_chunks(std::span<const std::byte> file, const std::string& name) {
  constexpr size_t kSignature = 8, kAround = 12;  // length, type and checksum of a chunk
  std::vector<std::byte> kept(file.begin(), file.begin() + kSignature);
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

// Depth and kind of the header, which is the first chunk: 16 bits a value.
bool is_deep_png(std::span<const std::byte> file) {
  constexpr size_t kDepth = 24;
  return file.size() > kDepth && file[kDepth] == std::byte{16};
}

// The content of the first chunk of this kind that is whole; empty where there is none.
std::span<const std::byte> find_chunk(std::span<const std::byte> file, std::string_view wanted) {
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

// Palettes to RGB, transparency to an alpha channel; 16 bits rounded to 8 unless they are to be kept.
bool read_header(PngState& state, bool keep_depth) {
  if (setjmp(png_jmpbuf(state.png))) return false;
  png_set_user_limits(state.png, kMaxSide, kMaxSide);
  png_set_read_fn(state.png, &state, read_input);
  png_read_info(state.png, state.info);
  state.width = png_get_image_width(state.png, state.info);
  state.height = png_get_image_height(state.png, state.info);
  state.bits = int64_t{png_get_bit_depth(state.png, state.info)} * png_get_channels(state.png, state.info);
  state.deep = keep_depth && png_get_bit_depth(state.png, state.info) == 16;
  png_set_expand(state.png);
  if (state.deep)
    png_set_swap(state.png);  // files have the high byte first
  else
    png_set_scale_16(state.png);
  png_set_interlace_handling(state.png);
  png_read_update_info(state.png, state.info);
  state.channels = png_get_channels(state.png, state.info);
  return true;
}

bool read_pixels(PngState& state) {
  if (setjmp(png_jmpbuf(state.png))) return false;
  png_read_image(state.png, state.rows.data());
  png_read_end(state.png, state.info);
  return true;
}

// Alpha is composited on black, the value that padding has; in place, as a pixel only becomes shorter.
// Returns the channels that are left. full: the value of opaque pixels.
template <class Value, class Wide>
int64_t drop_alpha(std::vector<Value>& values, int64_t channels, Wide full) {
  if (channels != 2 && channels != 4) return channels;
  const int64_t colours = channels - 1;
  const Value* from = values.data();
  Value* to = values.data();
  for (size_t i = 0, n = values.size() / static_cast<size_t>(channels); i < n; ++i, from += channels) {
    const Wide opacity = from[colours];
    for (int64_t c = 0; c < colours; ++c)
      *to++ = static_cast<Value>((static_cast<Wide>(from[c]) * opacity + full / 2) / full);
  }
  values.resize(static_cast<size_t>(to - values.data()));
  return colours;
}

struct ReadGuard {
  PngState& state;
  ~ReadGuard() { png_destroy_read_struct(&state.png, &state.info, nullptr); }
};

// What is written, wherever it lies.
struct PngRows {
  int64_t width, height, channels;
  int bits;
  const uint8_t* data;
};

struct WriteGuard {
  PngState& state;
  ~WriteGuard() { png_destroy_write_struct(&state.png, &state.info); }
};

// rows: of 8 or 16 bits a value.
bool encode(PngState& state, const PngRows& rows, const std::vector<png_text>& text) {
  if (setjmp(png_jmpbuf(state.png))) return false;
  png_set_write_fn(state.png, &state, write_output, nullptr);
  png_set_IHDR(state.png, state.info, static_cast<png_uint_32>(rows.width),
               static_cast<png_uint_32>(rows.height), rows.bits,
               rows.channels == 3 ? PNG_COLOR_TYPE_RGB : PNG_COLOR_TYPE_GRAY, PNG_INTERLACE_NONE,
               PNG_COMPRESSION_TYPE_DEFAULT, PNG_FILTER_TYPE_DEFAULT);
  if (!text.empty()) png_set_text(state.png, state.info, text.data(), static_cast<int>(text.size()));
  png_write_info(state.png, state.info);
  if (rows.bits == 16) png_set_swap(state.png);
  for (int64_t y = 0; y < rows.height; ++y)
    png_write_row(state.png, rows.data + y * rows.width * rows.channels * rows.bits / 8);
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

}  // namespace

namespace {

// The decoded values, still with alpha, in state.pixels.
void decode(PngState& state, std::span<const std::byte> chunks, size_t file_bytes, bool keep_depth,
            const std::string& name) {
  state.input = chunks;
  state.png = png_create_read_struct(PNG_LIBPNG_VER_STRING, &state, on_error, on_warning);
  if (state.png) state.info = png_create_info_struct(state.png);
  if (!state.info) throw std::bad_alloc();
  const auto check = [&](bool good) {
    if (!good) fail("use another copy of the file", "{}: damaged PNG file: {}", name, state.problem);
  };
  check(read_header(state, keep_depth));
  check_read_size(state.width, state.height, name);
  constexpr int64_t kMaxDeflateRatio = 1100;  // deflate cannot do better than 1032 to 1
  if (int64_t{state.width} * state.height * state.bits / 8 >
      static_cast<int64_t>(file_bytes) * kMaxDeflateRatio)
    fail("use another copy of the file", "{}: damaged PNG file: {} bytes cannot hold {}x{} pixels", name,
         file_bytes, state.width, state.height);
  const size_t row_bytes = size_t{state.width} * static_cast<size_t>(state.channels) * (state.deep ? 2 : 1);
  state.pixels.resize(row_bytes * state.height);
  for (size_t y = 0; y < state.height; ++y) state.rows.push_back(state.pixels.data() + y * row_bytes);
  check(read_pixels(state));
}

int orientation_of(std::span<const std::byte> file) {
  const std::span<const std::byte> exif = find_chunk(file, "eXIf");
  return exif.empty() ? 1 : exif_orientation(exif);
}

}  // namespace

Image decode_png(std::span<const std::byte> file, const std::string& name) {
  const std::vector<std::byte> chunks = pixel_chunks(file, name);
  PngState state;
  const ReadGuard guard{state};
  decode(state, chunks, file.size(), false, name);
  const int64_t channels = drop_alpha(state.pixels, state.channels, 255);
  return upright({state.width, state.height, channels, std::move(state.pixels)}, orientation_of(file));
}

std::optional<DeepImage> decode_deep_png(std::span<const std::byte> file, const std::string& name) {
  if (!is_deep_png(file)) return std::nullopt;
  const std::vector<std::byte> chunks = pixel_chunks(file, name);
  PngState state;
  const ReadGuard guard{state};
  decode(state, chunks, file.size(), true, name);
  std::vector<uint16_t> values(state.pixels.size() / 2);
  std::memcpy(values.data(), state.pixels.data(), state.pixels.size());
  const int64_t channels = drop_alpha(values, state.channels, uint64_t{65535});
  return DeepImage{state.width, state.height, channels, orientation_of(file), std::move(values)};
}

namespace {

void write_rows(const fs::path& path, const PngRows& rows, const std::map<std::string, std::string>& text) {
  check_image_size(rows.width, rows.height, rows.channels * rows.bits / 8, path.string());
  const auto chunks = text_chunks(text);
  PngState state;
  const WriteGuard guard{state};
  state.png = png_create_write_struct(PNG_LIBPNG_VER_STRING, &state, on_error, on_warning);
  if (state.png) state.info = png_create_info_struct(state.png);
  if (!state.info) throw std::bad_alloc();
  if (!encode(state, rows, chunks))
    fail("free some memory", "{}: cannot be encoded as PNG: {}", path.string(), state.problem);
  write_file(path, state.output);
}

}  // namespace

void write_png(const fs::path& path, const Image& image, const std::map<std::string, std::string>& text) {
  write_rows(path, {image.width, image.height, image.channels, 8, image.pixels.data()}, text);
}

void write_deep_png(const fs::path& path, const DeepImage& image,
                    const std::map<std::string, std::string>& text) {
  write_rows(
      path,
      {image.width, image.height, image.channels, 16, reinterpret_cast<const uint8_t*>(image.values.data())},
      text);
}

}  // namespace mdsm::image
