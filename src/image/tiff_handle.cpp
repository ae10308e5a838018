#include "image/tiff_handle.h"

#include <algorithm>
#include <cstdarg>
#include <cstdio>
#include <cstring>
#include <new>

namespace mdsm::image {
namespace {

constexpr tmsize_t kMaxAllocation = tmsize_t{256} << 20;  // of libtiff itself, at a time

TiffHandle& of(void* self) { return *static_cast<TiffHandle*>(self); }

}  // namespace

TiffHandle::TiffHandle(std::span<const std::byte> file) : file_(file) { open("rm"); }  // m: not mapped

TiffHandle::TiffHandle() : writes_(true) { open("w"); }

void TiffHandle::open(const char* mode) {
  TIFFOpenOptions* options = TIFFOpenOptionsAlloc();
  if (!options) throw std::bad_alloc();
  TIFFOpenOptionsSetMaxSingleMemAlloc(options, kMaxAllocation);
  TIFFOpenOptionsSetErrorHandlerExtR(options, error, this);
  TIFFOpenOptionsSetWarningHandlerExtR(options, warning, this);
  tiff_ = TIFFClientOpenExt(
      "memory", mode, this, read, write, seek, [](thandle_t) { return 0; }, size, nullptr, nullptr, options);
  TIFFOpenOptionsFree(options);
}

void TiffHandle::close() {
  if (tiff_) TIFFClose(tiff_);
  tiff_ = nullptr;
}

tmsize_t TiffHandle::read(thandle_t self, void* to, tmsize_t bytes) {
  TiffHandle& handle = of(self);
  const std::span<const std::byte> from = handle.writes_ ? handle.written_ : handle.file_;
  if (bytes <= 0 || handle.at_ >= from.size()) return 0;
  const size_t count = std::min(static_cast<size_t>(bytes), from.size() - handle.at_);
  std::memcpy(to, from.data() + handle.at_, count);
  handle.at_ += count;
  return static_cast<tmsize_t>(count);
}

// Exceptions must not travel through libtiff.
tmsize_t TiffHandle::write(thandle_t self, void* from, tmsize_t bytes) {
  TiffHandle& handle = of(self);
  const auto count = static_cast<size_t>(bytes);
  if (!handle.writes_ || bytes < 0) return 0;
  try {
    if (handle.written_.size() < handle.at_ + count) handle.written_.resize(handle.at_ + count);
  } catch (const std::bad_alloc&) {
    return 0;
  }
  std::memcpy(handle.written_.data() + handle.at_, from, count);
  handle.at_ += count;
  return bytes;
}

toff_t TiffHandle::seek(thandle_t self, toff_t offset, int from) {
  TiffHandle& handle = of(self);
  const toff_t base = from == SEEK_SET ? 0 : from == SEEK_CUR ? handle.at_ : size(self);
  handle.at_ = static_cast<size_t>(base + offset);
  return handle.at_;
}

toff_t TiffHandle::size(thandle_t self) {
  const TiffHandle& handle = of(self);
  return handle.writes_ ? handle.written_.size() : handle.file_.size();
}

int TiffHandle::error(TIFF*, void* self, const char*, const char* format, va_list arguments) {
  char text[256];
  std::vsnprintf(text, sizeof text, format, arguments);
  if (of(self).problem_.empty()) of(self).problem_ = text;  // the first is the cause
  return 1;
}

int TiffHandle::warning(TIFF*, void* self, const char*, const char*, va_list) {
  of(self).warned_ = true;
  return 1;
}

}  // namespace mdsm::image
