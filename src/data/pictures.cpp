#include "data/pictures.h"

#include <map>
#include <memory>

#include "core/error.h"
#include "data/image_folder.h"

namespace mdsm::data {
namespace {

void add_file(Pictures& pictures, std::vector<fs::path>& files, const fs::path& file, const fs::path& name,
              bool in_folder) {
  pictures.names.push_back(fs::path(name).replace_extension());
  pictures.labels.push_back(file.string());
  pictures.in_folder.push_back(in_folder);
  files.push_back(file);
}

// "fashion-mnist", or the last part of a path.
std::string short_name(const std::string& source) {
  fs::path path = source.substr(0, source.find(':'));
  if (path.filename().empty()) path = path.parent_path();
  const std::string stem = path.stem().string();
  return stem.empty() || stem == "." || stem == ".." ? "image" : stem;
}

}  // namespace

void check_different(const Pictures& pictures) {
  std::map<fs::path, size_t> seen;
  for (size_t i = 0; i < pictures.size(); ++i)
    if (const auto [at, added] = seen.emplace(pictures.names[i], i); !added)
      fail_usage("work on them in two calls with two output folders",
                 "{} and {}: both would be written as {}", pictures.labels[at->second], pictures.labels[i],
                 pictures.names[i].string() + pictures.ending(i));
}

Pictures list_pictures(const std::vector<std::string>& paths, int64_t limit) {
  Pictures pictures;
  auto files = std::make_shared<std::vector<fs::path>>();
  for (const fs::path path : paths) {
    std::error_code error;
    if (!fs::exists(path, error)) fail("check the path", "{}: no such file or folder", path.string());
    if (!fs::is_directory(path, error)) {
      add_file(pictures, *files, path, path.filename(), false);
      continue;
    }
    for (const auto& file : image_files(path)) add_file(pictures, *files, path / file, file, true);
  }
  if (limit > 0 && pictures.size() > static_cast<size_t>(limit)) {
    pictures.names.resize(static_cast<size_t>(limit));
    pictures.labels.resize(static_cast<size_t>(limit));
    pictures.in_folder.resize(static_cast<size_t>(limit));
  }
  pictures.read = [files](size_t i) { return image::read_picture((*files)[i]); };
  return pictures;
}

Pictures readable(Pictures pictures, std::vector<std::string>& damaged) {
  Pictures good;
  auto numbers = std::make_shared<std::vector<size_t>>();
  for (size_t i = 0; i < pictures.size(); ++i) {
    try {
      if (pictures.in_folder[i]) pictures.read(i);
    } catch (const Error& error) {
      damaged.push_back(error.message());
      continue;
    }
    good.names.push_back(std::move(pictures.names[i]));
    good.labels.push_back(std::move(pictures.labels[i]));
    good.in_folder.push_back(pictures.in_folder[i]);
    numbers->push_back(i);
  }
  good.read = [numbers, read = std::move(pictures.read)](size_t i) { return read((*numbers)[i]); };
  return good;
}

Pictures pictures_of(std::shared_ptr<const Dataset> dataset, const DataOptions& options) {
  const Shape shape = dataset->image_shape();
  if (shape.c != 1 && shape.c != 3)
    fail("use a set of grey or RGB images", "{}: images of {} channels cannot be written as pictures",
         options.source, shape.c);
  Pictures pictures;
  for (int64_t i = 0; i < dataset->size(); ++i) {
    pictures.names.push_back(
        fmt::format("{}-{}-{:05}", short_name(options.source), to_string(options.split), i));
    pictures.labels.push_back(fmt::format("{} image {}", options.source, i));
  }
  pictures.read = [dataset, shape](size_t i) {
    Tensor one(shape);
    dataset->read(static_cast<int64_t>(i), one.values());
    return dataset->eight_bit() ? image::to_picture(image::to_image(one)) : image::to_picture(one);
  };
  return pictures;
}

}  // namespace mdsm::data
