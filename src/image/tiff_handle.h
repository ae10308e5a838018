// A TIFF file in memory behind libtiff's handle, with its complaints kept in place of printed ones. Internal
// to src/image.
#pragma once

#include <tiffio.h>

#include <cstddef>
#include <span>
#include <string>
#include <vector>

namespace mdsm::image {

class TiffHandle {
 public:
  explicit TiffHandle(std::span<const std::byte> file);  // to be read; must live as long
  TiffHandle();                                          // to be written
  ~TiffHandle() { close(); }
  TiffHandle(const TiffHandle&) = delete;
  TiffHandle& operator=(const TiffHandle&) = delete;

  TIFF* get() const { return tiff_; }  // nothing where the file is no TIFF file
  void close();                        // what is written is whole after it
  const std::string& problem() const { return problem_; }
  bool warned() const { return warned_; }
  const std::vector<std::byte>& written() const { return written_; }

  template <class T>
  T field(uint32_t tag, T otherwise) const {
    T value = otherwise;
    return TIFFGetFieldDefaulted(tiff_, tag, &value) ? value : otherwise;
  }

 private:
  void open(const char* mode);
  static tmsize_t read(thandle_t self, void* to, tmsize_t bytes);
  static tmsize_t write(thandle_t self, void* from, tmsize_t bytes);
  static toff_t seek(thandle_t self, toff_t offset, int from);
  static toff_t size(thandle_t self);
  static int error(TIFF*, void* self, const char* module, const char* format, va_list arguments);
  static int warning(TIFF*, void* self, const char* module, const char* format, va_list arguments);

  TIFF* tiff_ = nullptr;
  std::span<const std::byte> file_;
  std::vector<std::byte> written_;
  bool writes_ = false, warned_ = false;
  size_t at_ = 0;
  std::string problem_;
};

}  // namespace mdsm::image
