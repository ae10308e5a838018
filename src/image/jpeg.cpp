// JPEG through libjpeg, whose error handler leaves by longjmp: the functions that call setjmp own nothing
// with a destructor. Grey files stay grey, others become RGB.
#include <algorithm>
#include <csetjmp>
#include <cstdio>
#include <map>
//
#include <jerror.h>
#include <jpeglib.h>

#include "core/error.h"
#include "image/codecs.h"
#include "image/exif.h"

namespace mdsm::image {
namespace {

// A hostile progressive file can hold so many scans that it takes hours.
constexpr int64_t kMaxScans = 500, kFewestScans = 32, kPixelScans = int64_t{1} << 31;
constexpr long kMaxMemory = 256L << 20;  // of libjpeg itself: a progressive file's coefficients

constexpr int kExifMarker = JPEG_APP0 + 1, kProfileMarker = JPEG_APP0 + 2;
constexpr unsigned kMaxMarker = 0xffff;

struct JpegState {
  jpeg_error_mgr errors{};
  jpeg_progress_mgr progress{};
  jpeg_decompress_struct decoder{};
  jmp_buf jump;
  char problem[JMSG_LENGTH_MAX] = "";
  FileImage::Values pixels;

  ~JpegState() { jpeg_destroy_decompress(&decoder); }  // fine for a zeroed one, too
};

JpegState& state_of(j_common_ptr common) { return *static_cast<JpegState*>(common->client_data); }

[[noreturn]] void on_error(j_common_ptr common) {
  common->err->format_message(common, state_of(common).problem);
  longjmp(state_of(common).jump, 1);
}

// libjpeg fills what is missing with grey and merely warns; a training set must not take such images. Only
// oddities that leave the pixels whole pass.
void on_message(j_common_ptr common, int level) {
  if (level >= 0) return;
  switch (common->err->msg_code) {
    case JWRN_ADOBE_XFORM:
    case JWRN_EXTRANEOUS_DATA:
    case JWRN_JFIF_MAJOR:
    case JWRN_NOT_SEQUENTIAL:
      return;
    default:
      on_error(common);
  }
}

void on_output(j_common_ptr) {}

void on_progress(j_common_ptr common) {
  const auto* decoder = reinterpret_cast<j_decompress_ptr>(common);
  const int64_t pixels = int64_t{decoder->image_width} * decoder->image_height;
  const int64_t scans = std::clamp(kPixelScans / std::max<int64_t>(pixels, 1), kFewestScans, kMaxScans);
  if (decoder->input_scan_number <= scans) return;
  JpegState& state = state_of(common);
  std::snprintf(state.problem, sizeof state.problem, "more than %d scans", static_cast<int>(scans));
  longjmp(state.jump, 1);
}

bool read_header(JpegState& state, FileBytes file) {
  if (setjmp(state.jump)) return false;
  jpeg_create_decompress(&state.decoder);
  state.decoder.progress = &state.progress;
  state.decoder.mem->max_memory_to_use = kMaxMemory;
  jpeg_save_markers(&state.decoder, kExifMarker, kMaxMarker);
  jpeg_save_markers(&state.decoder, kProfileMarker, kMaxMarker);
  jpeg_mem_src(&state.decoder, reinterpret_cast<const unsigned char*>(file.data()), file.size());
  jpeg_read_header(&state.decoder, TRUE);
  state.decoder.out_color_space = state.decoder.jpeg_color_space == JCS_GRAYSCALE ? JCS_GRAYSCALE : JCS_RGB;
  return true;
}

// What is not kept goes to one row again and again.
bool read_pixels(JpegState& state, Keep keep) {
  if (setjmp(state.jump)) return false;
  jpeg_start_decompress(&state.decoder);
  const int64_t row = int64_t{state.decoder.output_width} * state.decoder.output_components;
  reserve(state.pixels, row * (keep == Keep::pixels ? state.decoder.output_height : 1));
  while (state.decoder.output_scanline < state.decoder.output_height) {
    const int64_t y = keep == Keep::pixels ? state.decoder.output_scanline : 0;
    grow(state.pixels, (y + 1) * row);
    JSAMPROW to = std::get<0>(state.pixels).data() + y * row;
    jpeg_read_scanlines(&state.decoder, &to, 1);
  }
  jpeg_finish_decompress(&state.decoder);
  return true;
}

// What stands behind this word in the markers of this kind, in their order.
std::vector<FileBytes> markers(const JpegState& state, int kind, std::string_view word) {
  std::vector<FileBytes> found;
  for (auto marker = state.decoder.marker_list; marker; marker = marker->next) {
    const FileBytes data(reinterpret_cast<const std::byte*>(marker->data), marker->data_length);
    const std::string_view text(reinterpret_cast<const char*>(data.data()), data.size());
    if (marker->marker == kind && text.starts_with(word)) found.push_back(data.subspan(word.size()));
  }
  return found;
}

int orientation(const JpegState& state) {
  const auto found = markers(state, kExifMarker, {"Exif\0\0", 6});
  return found.empty() ? 1 : exif_orientation(found.front());
}

// A profile comes in parts, each with its number, from 1, and how many there are. One that is not whole is
// left out.
std::string profile(const JpegState& state) {
  std::map<int, FileBytes> parts;
  size_t total = 0;
  for (const FileBytes& part : markers(state, kProfileMarker, {"ICC_PROFILE\0", 12})) {
    if (part.size() < 2) return "";
    parts[static_cast<int>(part[0])] = part.subspan(2);
    total = static_cast<size_t>(part[1]);
  }
  std::string whole;
  if (parts.size() != total || total == 0 || parts.begin()->first != 1) return whole;
  for (const auto& [number, part] : parts)
    whole.append(reinterpret_cast<const char*>(part.data()), part.size());
  return whole;
}

void check_jpeg(const JpegState& state, bool good, const std::string& name) {
  if (!good) fail("use another copy of the file", "{}: damaged JPEG file: {}", name, state.problem);
}

// The first scan says something about each 8x8 block of its components, the mean of their values at least,
// and a Huffman code has one bit or more. Arithmetic coding may take less.
void check_block_count(const JpegState& state, FileBytes file, const std::string& name) {
  const jpeg_decompress_struct& decoder = state.decoder;
  if (decoder.arith_code) return;
  size_t blocks = 0;
  for (int i = 0; i < decoder.comps_in_scan; ++i)
    blocks += size_t{decoder.cur_comp_info[i]->width_in_blocks} * decoder.cur_comp_info[i]->height_in_blocks;
  if (blocks / 8 > file.size())
    fail("use another copy of the file", "{}: damaged JPEG file: {} bytes cannot hold {}x{} pixels", name,
         file.size(), decoder.image_width, decoder.image_height);
}

void open_jpeg(JpegState& state, FileBytes file, const std::string& name) {
  state.decoder.err = jpeg_std_error(&state.errors);
  state.decoder.client_data = &state;
  state.errors.error_exit = on_error;
  state.errors.emit_message = on_message;
  state.errors.output_message = on_output;
  state.progress.progress_monitor = on_progress;
  check_jpeg(state, read_header(state, file), name);
  const auto space = state.decoder.jpeg_color_space;
  if (space == JCS_CMYK || space == JCS_YCCK)
    fail("convert it to RGB", "{}: a CMYK JPEG file, which is not read", name);
  check_read_size(state.decoder.image_width, state.decoder.image_height, name);
  check_block_count(state, file, name);
}

}  // namespace

FileImage decode_jpeg(FileBytes file, const std::string& name) {
  JpegState state;
  open_jpeg(state, file, name);
  const int64_t width = state.decoder.image_width, height = state.decoder.image_height;
  const int64_t channels = state.decoder.out_color_space == JCS_GRAYSCALE ? 1 : 3;
  if (packed_much(width * height * channels, file.size())) {
    JpegState first;
    open_jpeg(first, file, name);
    check_jpeg(first, read_pixels(first, Keep::nothing), name);
  }
  FileImage image{width, height, channels};
  image.orientation = orientation(state);  // the list goes with the decoder
  image.profile = profile(state);
  check_jpeg(state, read_pixels(state, Keep::pixels), name);
  image.values = std::move(state.pixels);
  return image;
}

}  // namespace mdsm::image
