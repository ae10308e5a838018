#include "classify/classifier.h"

#include <algorithm>
#include <cmath>

#include "core/binomial.h"
#include "core/error.h"
#include "core/json.h"
#include "core/threads.h"
#include "io/element.h"

namespace mdsm::classify {
namespace {

using nlohmann::json;

constexpr const char* kFormat = "mdsm-classifier";
constexpr int64_t kWave = 256;  // groups between two reports of progress
constexpr int64_t kGrain = 4;   // groups that share the memory of one

json metadata_json(const io::SafetensorsFile& file, const std::string& key) {
  const auto found = file.metadata().find(key);
  if (found == file.metadata().end())
    fail("use a file written by mdsm classifier", "{}: has no '{}' in its metadata", file.path().string(),
         key);
  return parse_json(found->second);
}

std::vector<float> read_weights(const io::SafetensorsFile& file, const ClassifierSpec& spec) {
  const std::string where = file.path().string();
  const auto layout = classifier_layout(spec);
  for (const auto& tensor : layout) {  // before memory is taken for what the spec claims
    const auto* entry = file.find(tensor.name);
    if (!entry || entry->shape != tensor.shape)
      fail("the file is damaged", "{}: '{}' is {}", where, tensor.name,
           entry ? "of another shape than its network's" : "missing");
  }
  if (file.entries().size() != layout.size())
    fail("the file is damaged or of a newer version", "{}: {} tensors instead of {}", where,
         file.entries().size(), layout.size());
  std::vector<float> weights;
  for (const auto& tensor : layout) {
    const auto values = file.read(*file.find(tensor.name));
    if (find_non_finite(values) >= 0)
      fail("the file is damaged", "{}: '{}' is not finite", where, tensor.name);
    weights.insert(weights.end(), values.begin(), values.end());
  }
  return weights;
}

void check_input(const Classifier& classifier, const Shape& image, const std::string& what) {
  const Shape& wants = classifier.spec.input;
  if (image.with_n(1) == wants) return;
  fail(fmt::format("use --resize, --pad or --colour, or another classifier"),
       "the classifier takes images of {} channel{}, {}x{} pixels; {} has {} channel{}, {}x{}", wants.c,
       wants.c == 1 ? "" : "s", wants.w, wants.h, what, image.c, image.c == 1 ? "" : "s", image.w, image.h);
}

// Names that only repeat the numbers say nothing.
bool are_numbers(const std::vector<std::string>& names) {
  for (size_t i = 0; i < names.size(); ++i)
    if (names[i] != std::to_string(i)) return false;
  return true;
}

// The classifier's number of each class of the data, -1 for those it does not know.
std::vector<int> class_map(const Classifier& classifier, const data::Dataset& data) {
  const auto names = data.class_names();
  std::vector<int> map;
  if (are_numbers(names) || are_numbers(classifier.classes)) {
    for (int i = 0; i < classifier.spec.classes; ++i) map.push_back(i);
    return map;
  }
  for (const std::string& name : names) {
    const auto found = std::ranges::find(classifier.classes, name);
    map.push_back(found == classifier.classes.end() ? -1
                                                    : static_cast<int>(found - classifier.classes.begin()));
  }
  return map;
}

[[noreturn]] void fail_class(const Classifier& classifier, const data::Dataset& data, int label) {
  const auto names = data.class_names();
  const auto at = static_cast<size_t>(label);
  fail("use data of the classes that it was trained on", "{}: has the class {}, the classifier knows {}",
       data.description(), at < names.size() ? names[at] : std::to_string(label),
       fmt::join(classifier.classes, ", "));
}

// read(index, out) gives image `index`.
template <class Read>
Classification classify_images(const Classifier& classifier, int64_t n, const Read& read,
                               const std::function<void(int64_t)>& done) {
  const ClassifierSpec& spec = classifier.spec;
  Classification result;
  result.n = n;
  result.features.resize(static_cast<size_t>(n * spec.features));
  result.probabilities.resize(static_cast<size_t>(n * spec.classes));
  const int64_t groups = (n + kGroup - 1) / kGroup;
  for (int64_t first = 0; first < groups; first += kWave) {
    const int64_t count = std::min(kWave, groups - first);
    parallel_for(count, kGrain, [&](int64_t begin, int64_t end) {
      ClassifierGroup group(spec, kGroup);
      Tensor x(spec.input.with_n(kGroup));
      for (int64_t g = first + begin; g < first + end; ++g) {
        const int64_t start = g * kGroup, images = std::min(kGroup, n - start);
        for (int64_t i = 0; i < images; ++i) read(start + i, x.view().image(i));
        group.forward(classifier.weights, x.view().images(0, images));
        std::ranges::copy(group.features(), result.features.begin() + start * spec.features);
        std::ranges::copy(group.probabilities(), result.probabilities.begin() + start * spec.classes);
      }
    });
    if (done) done(std::min(n, (first + count) * kGroup));
  }
  return result;
}

}  // namespace

void save_classifier(const fs::path& path, const Classifier& classifier, io::StoredType type) {
  std::map<std::string, std::string> metadata = {{"format", kFormat},
                                                 {"spec", json_text(to_json(classifier.spec))},
                                                 {"classes", json_text(classifier.classes)}};
  metadata["info"] = json_text(classifier.info);
  std::vector<io::NamedTensor> tensors;
  for (const auto& tensor : classifier_layout(classifier.spec))
    tensors.push_back({tensor.name,
                       tensor.shape,
                       {classifier.weights.data() + tensor.offset, static_cast<size_t>(tensor.count)}});
  io::write_safetensors(path, tensors, metadata, type);
}

Classifier load_classifier(const fs::path& path) {
  const io::SafetensorsFile file(path);
  const std::string where = path.string();
  const auto format = file.metadata().find("format");
  if (format == file.metadata().end() || format->second != kFormat)
    fail("make one with mdsm classifier", "{}: a safetensors file, but not a classifier", where);
  Classifier classifier;
  classifier.spec = classifier_spec_from_json(metadata_json(file, "spec"), where);
  classifier.weights = read_weights(file, classifier.spec);
  const json names = metadata_json(file, "classes");
  classifier.info = metadata_json(file, "info");
  if (!names.is_array() || names.size() != static_cast<size_t>(classifier.spec.classes) ||
      !std::ranges::all_of(names, [](const json& name) { return name.is_string(); }))
    fail("the file is damaged", "{}: its class names do not fit its {} classes", where,
         classifier.spec.classes);
  classifier.classes = json_value<std::vector<std::string>>(names);
  const auto strange = [](unsigned char c) { return c < 0x20 || c == 0x7f; };
  for (const std::string& name : classifier.classes)
    if (std::ranges::any_of(name, strange))
      fail("the file is damaged", "{}: a class name with control characters", where);
  if (!classifier.info.is_object()) fail("the file is damaged", "{}: its 'info' is no JSON object", where);
  return classifier;
}

void round_to_half(Classifier& classifier) {
  for (float& value : classifier.weights) value = io::float_from_half(io::half_from_float(value));
}

Classification classify(const Classifier& classifier, const data::Dataset& data,
                        const std::function<void(int64_t)>& done) {
  check_input(classifier, data.image_shape(), data.description());
  return classify_images(
      classifier, data.size(), [&](int64_t i, std::span<float> out) { data.read(i, out); }, done);
}

Classification classify(const Classifier& classifier, ConstTensorView x) {
  check_input(classifier, x.shape, "the batch");
  return classify_images(classifier, x.shape.n,
                         [&](int64_t i, std::span<float> out) { std::ranges::copy(x.image(i), out.begin()); },
                         {});
}

void label_gradient(const Classifier& classifier, ConstTensorView x, std::span<const int> labels,
                    TensorView grad_x) {
  check_input(classifier, x.shape, "the batch");
  parallel_for((x.shape.n + kGroup - 1) / kGroup, 1, [&](int64_t begin, int64_t end) {
    ClassifierGroup group(classifier.spec, kGroup);
    for (int64_t g = begin; g < end; ++g) {
      const int64_t first = g * kGroup, count = std::min(kGroup, x.shape.n - first);
      group.forward(classifier.weights, x.images(first, count));
      group.image_gradient(classifier.weights,
                           labels.subspan(static_cast<size_t>(first), static_cast<size_t>(count)),
                           grad_x.images(first, count));
    }
  });
}

double trained_noise(const Classifier& classifier) {
  const json trained = classifier.info.value("trained", json());
  const json level = trained.is_object() ? trained.value("sigma-max", json()) : json();
  return level.is_number() ? level.get<double>() : 0;
}

std::vector<int> most_likely(std::span<const float> probabilities, int64_t classes) {
  std::vector<int> best;
  for (size_t first = 0; first < probabilities.size(); first += static_cast<size_t>(classes)) {
    const auto row = probabilities.subspan(first, static_cast<size_t>(classes));
    best.push_back(static_cast<int>(std::max_element(row.begin(), row.end()) - row.begin()));
  }
  return best;
}

Accuracy accuracy(const Classifier& classifier, const data::Dataset& data,
                  const std::function<void(int64_t)>& done) {
  const std::vector<int> map = class_map(classifier, data);
  std::vector<int> wanted(static_cast<size_t>(data.size()), -1);
  Accuracy result;
  for (int64_t i = 0; i < data.size(); ++i) {  // before the work
    const int label = data.label(i);
    if (label < 0) continue;
    ++result.n;
    const int known = static_cast<size_t>(label) < map.size() ? map[static_cast<size_t>(label)] : -1;
    if (known < 0) fail_class(classifier, data, label);
    wanted[static_cast<size_t>(i)] = known;
  }
  if (result.n == 0) fail("use a labelled set", "{}: has no labels", data.description());
  const auto found = most_likely(classify(classifier, data, done).probabilities, classifier.spec.classes);
  for (size_t i = 0; i < wanted.size(); ++i) result.right += wanted[i] == found[i];
  const auto n = static_cast<double>(result.n);
  result.rate = static_cast<double>(result.right) / n;
  result.standard_error = binomial_error(result.right, result.n);
  return result;
}

json to_json(const Accuracy& accuracy) {
  return {{"n", accuracy.n},
          {"right", accuracy.right},
          {"rate", accuracy.rate},
          {"standard_error", accuracy.standard_error}};
}

}  // namespace mdsm::classify
