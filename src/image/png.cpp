// PNG through libpng. libpng reports errors by longjmp, so the functions that call setjmp own nothing with a
// destructor: all memory hangs in a state object of the caller.
#include <png.h>

#include <algorithm>
#include <csetjmp>
#include <cstring>
#include <new>

#include "core/error.h"
#include "image/codecs.h"

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
  int64_t bits = 0;  // of a pixel in the file
  int channels = 0;  // as decoded: 1 grey, 2 grey + alpha, 3 RGB, 4 RGB + alpha
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

// Everything to 8 bits: palettes to RGB, transparency to an alpha channel, 16 bits rounded.
bool read_header(PngState& state) {
  if (setjmp(png_jmpbuf(state.png))) return false;
  png_set_user_limits(state.png, kMaxSide, kMaxSide);
  png_set_read_fn(state.png, &state, read_input);
  png_read_info(state.png, state.info);
  state.width = png_get_image_width(state.png, state.info);
  state.height = png_get_image_height(state.png, state.info);
  state.bits = int64_t{png_get_bit_depth(state.png, state.info)} * png_get_channels(state.png, state.info);
  png_set_expand(state.png);
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
Image without_alpha(PngState& state) {
  const bool alpha = state.channels == 2 || state.channels == 4;
  const int64_t colours = alpha ? state.channels - 1 : state.channels;
  if (alpha) {
    const uint8_t* from = state.pixels.data();
    uint8_t* to = state.pixels.data();
    for (size_t i = 0; i < size_t{state.width} * state.height; ++i, from += state.channels) {
      const int opacity = from[colours];
      for (int64_t c = 0; c < colours; ++c) *to++ = static_cast<uint8_t>((from[c] * opacity + 127) / 255);
    }
    state.pixels.resize(static_cast<size_t>(to - state.pixels.data()));
  }
  return {state.width, state.height, colours, std::move(state.pixels)};
}

struct ReadGuard {
  PngState& state;
  ~ReadGuard() { png_destroy_read_struct(&state.png, &state.info, nullptr); }
};

struct WriteGuard {
  PngState& state;
  ~WriteGuard() { png_destroy_write_struct(&state.png, &state.info); }
};

bool encode(PngState& state, const Image& image, const std::vector<png_text>& text) {
  if (setjmp(png_jmpbuf(state.png))) return false;
  png_set_write_fn(state.png, &state, write_output, nullptr);
  png_set_IHDR(state.png, state.info, static_cast<png_uint_32>(image.width),
               static_cast<png_uint_32>(image.height), 8,
               image.channels == 3 ? PNG_COLOR_TYPE_RGB : PNG_COLOR_TYPE_GRAY, PNG_INTERLACE_NONE,
               PNG_COMPRESSION_TYPE_DEFAULT, PNG_FILTER_TYPE_DEFAULT);
  if (!text.empty()) png_set_text(state.png, state.info, text.data(), static_cast<int>(text.size()));
  png_write_info(state.png, state.info);
  for (int64_t y = 0; y < image.height; ++y) png_write_row(state.png, image.row(y));
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

Image decode_png(std::span<const std::byte> file, const std::string& name) {
  const std::vector<std::byte> chunks = pixel_chunks(file, name);
  PngState state;
  state.input = chunks;
  const ReadGuard guard{state};
  state.png = png_create_read_struct(PNG_LIBPNG_VER_STRING, &state, on_error, on_warning);
  if (state.png) state.info = png_create_info_struct(state.png);
  if (!state.info) throw std::bad_alloc();
  const auto check = [&](bool good) {
    if (!good) fail("use another copy of the file", "{}: damaged PNG file: {}", name, state.problem);
  };
  check(read_header(state));
  check_read_size(state.width, state.height, name);
  constexpr int64_t kMaxDeflateRatio = 1100;  // deflate cannot do better than 1032 to 1
  if (int64_t{state.width} * state.height * state.bits / 8 >
      static_cast<int64_t>(file.size()) * kMaxDeflateRatio)
    fail("use another copy of the file", "{}: damaged PNG file: {} bytes cannot hold {}x{} pixels", name,
         file.size(), state.width, state.height);
  const size_t row_bytes = size_t{state.width} * static_cast<size_t>(state.channels);
  state.pixels.resize(row_bytes * state.height);
  for (size_t y = 0; y < state.height; ++y) state.rows.push_back(state.pixels.data() + y * row_bytes);
  check(read_pixels(state));
  return without_alpha(state);
}

void write_png(const fs::path& path, const Image& image, const std::map<std::string, std::string>& text) {
  check_image_size(image.width, image.height, image.channels, path.string());
  const auto chunks = text_chunks(text);
  PngState state;
  const WriteGuard guard{state};
  state.png = png_create_write_struct(PNG_LIBPNG_VER_STRING, &state, on_error, on_warning);
  if (state.png) state.info = png_create_info_struct(state.png);
  if (!state.info) throw std::bad_alloc();
  if (!encode(state, image, chunks))
    fail("free some memory", "{}: cannot be encoded as PNG: {}", path.string(), state.problem);
  write_file(path, state.output);
}

}  // namespace mdsm::image
