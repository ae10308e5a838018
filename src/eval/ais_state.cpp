#include "eval/ais_state.h"

#include <algorithm>

#include "core/error.h"
#include "core/json.h"
#include "io/checked_safetensors.h"

namespace mdsm::eval {
namespace {

using nlohmann::json;

template <class List>
void append(List& to, const List& from) {
  to.insert(to.end(), from.begin(), from.end());
}

json to_json(const AisChains& chains) {
  return {{"log_weight", chains.log_weight},
          {"start_energy", chains.start_energy},
          {"accepted", chains.accepted},
          {"difference", chains.difference},
          {"acceptance", chains.acceptance}};
}

AisChains chains_from(const JsonObject& values) {
  AisChains chains;
  chains.log_weight = values.get<std::vector<double>>("log_weight");
  chains.start_energy = values.get<std::vector<double>>("start_energy");
  chains.accepted = values.get<std::vector<int64_t>>("accepted");
  chains.difference = values.get<std::vector<double>>("difference");
  chains.acceptance = values.get<std::vector<double>>("acceptance");
  return chains;
}

json to_json(const AisBatch& batch) {
  return {{"direction", to_string(batch.direction)},
          {"seeds", batch.seeds},
          {"done", batch.done},
          {"log_weight", batch.log_weight},
          {"accepted", batch.accepted},
          {"start_energy", batch.start_energy}};
}

// Without its images.
AisBatch batch_from(const JsonObject& values) {
  AisBatch batch;
  batch.direction =
      values.at("direction") == to_string(Direction::reverse) ? Direction::reverse : Direction::forward;
  batch.seeds = values.get<std::vector<uint64_t>>("seeds");
  batch.done = values.get<int64_t>("done");
  batch.log_weight = values.get<std::vector<double>>("log_weight");
  batch.accepted = values.get<std::vector<int64_t>>("accepted");
  batch.start_energy = values.get<std::vector<double>>("start_energy");
  return batch;
}

bool fits(const AisChains& chains, size_t distributions) {
  const size_t n = chains.log_weight.size();
  return chains.start_energy.size() == n && chains.accepted.size() == n &&
         chains.difference.size() == distributions && chains.acceptance.size() == distributions;
}

// Lists of equal length; start energies are there from the first transition on.
bool fits(const AisBatch& batch) {
  const size_t n = batch.seeds.size();
  return batch.log_weight.size() == n && batch.accepted.size() == n && batch.done >= 0 &&
         batch.start_energy.size() == (batch.done > 0 ? n : 0);
}

[[noreturn]] void fail_damaged(const fs::path& path, const std::string& what) {
  fail("remove it, or use --force to start again", "{}: damaged: {}", path.string(), what);
}

std::vector<io::NamedTensor> images_of(const AisBatch& batch) {
  const Shape& s = batch.x.shape();
  if (batch.seeds.empty()) return {};
  return {{"x", {s.n, s.c, s.h, s.w}, batch.x.values()}};
}

// Whether the images of the chains are there, or none where there are no chains.
bool read_images(const io::SafetensorsFile& file, const Shape& image, AisBatch& batch) {
  const auto* entry = file.find("x");
  if (batch.seeds.empty()) return !entry;
  const Shape shape = image.with_n(static_cast<int64_t>(batch.seeds.size()));
  if (!entry || entry->shape != std::vector<int64_t>{shape.n, shape.c, shape.h, shape.w}) return false;
  batch.x = Tensor(shape);
  std::ranges::copy(file.read(*entry), batch.x.data());
  return true;
}

JsonObject object_of(const io::SafetensorsFile& file, const char* key,
                     const std::function<void(const std::string&)>& damaged) {
  const auto found = file.metadata().find(key);
  if (found == file.metadata().end()) damaged(fmt::format("no {}", key));
  return JsonObject::parse(found->second, damaged);
}

}  // namespace

void AisChains::take(const AisBatch& finished) {
  append(log_weight, finished.log_weight);
  append(start_energy, finished.start_energy);
  append(accepted, finished.accepted);
}

// One file, so that the parts always belong together: x of the batch at work as a tensor, the rest as JSON.
void write_ais_state(const fs::path& path, const json& parameters, const AisState& state,
                     const AisBatch& batch) {
  const json head = {{"eps", state.eps},
                     {"forward", to_json(state.forward)},
                     {"reverse", to_json(state.reverse)},
                     {"batch", to_json(batch)}};
  io::write_checked_safetensors(path, images_of(batch),
                                {{"parameters", json_text(parameters)}, {"state", json_text(head)}});
}

SavedAis read_ais_state(const fs::path& path, std::string_view bytes, const json& parameters,
                        const Shape& image, int64_t distributions) {
  const io::SafetensorsFile file(path, bytes);
  const auto damaged = [&](const std::string& what) { fail_damaged(path, what); };
  const json before = object_of(file, "parameters", damaged).values();
  const JsonObject head = object_of(file, "state", damaged);
  if (!io::checksum_is_right(file)) fail_damaged(path, "its checksum is wrong");
  for (const auto& [key, value] : parameters.items())
    if (before.value(key, json()) != value)
      fail("use the options it was started with, or another --out", "{}: {} is {} there, but {} here",
           path.string(), key, json_text(before.value(key, json())), json_text(value));
  SavedAis found{{head.get<std::vector<double>>("eps"), chains_from(head.object("forward")),
                  chains_from(head.object("reverse"))},
                 batch_from(head.object("batch"))};
  const auto k = static_cast<size_t>(distributions);
  const bool place = found.batch.seeds.empty() ? found.batch.done == 0
                                               : found.batch.done > 0 && found.batch.done <= distributions;
  if (!place || !fits(found.batch) || !read_images(file, image, found.batch) || found.state.eps.size() != k ||
      !fits(found.state.forward, k) || !fits(found.state.reverse, k))
    fail_damaged(path, "lists of unequal length");
  return found;
}

AisBatch part_of(const AisBatch& whole, distributed::Part part) {
  AisBatch found;
  found.direction = whole.direction;
  found.done = whole.done;
  const auto some = [&](const auto& list) {
    const auto begin = list.begin() + static_cast<int64_t>(std::min(part.first, list.size()));
    const auto end = list.begin() + static_cast<int64_t>(std::min(part.first + part.count, list.size()));
    return std::remove_cvref_t<decltype(list)>(begin, end);
  };
  found.seeds = some(whole.seeds);
  found.log_weight = some(whole.log_weight);
  found.accepted = some(whole.accepted);
  found.start_energy = some(whole.start_energy);
  if (found.seeds.empty()) return found;
  const ConstTensorView images =
      whole.x.view().images(static_cast<int64_t>(part.first), static_cast<int64_t>(part.count));
  found.x = Tensor(images.shape);
  std::ranges::copy(images.values(), found.x.data());
  return found;
}

AisBatch joined(const std::vector<AisBatch>& parts) {
  AisBatch whole;
  whole.direction = parts.front().direction;
  whole.done = parts.front().done;
  for (const AisBatch& part : parts) {
    append(whole.seeds, part.seeds);
    append(whole.log_weight, part.log_weight);
    append(whole.accepted, part.accepted);
    append(whole.start_energy, part.start_energy);
  }
  if (parts.front().x.shape().count() == 0) return whole;
  whole.x = Tensor(parts.front().x.shape().with_n(static_cast<int64_t>(whole.seeds.size())));
  int64_t next = 0;
  for (const AisBatch& part : parts) {
    if (part.seeds.empty()) continue;
    std::ranges::copy(part.x.values(), whole.x.view().images(next, part.x.shape().n).values().begin());
    next += part.x.shape().n;
  }
  return whole;
}

std::string ais_bytes(const AisBatch& batch, bool with_images) {
  return io::safetensors_bytes(with_images ? images_of(batch) : std::vector<io::NamedTensor>{},
                               {{"batch", json_text(to_json(batch))}});
}

AisBatch ais_batch(std::string_view bytes, const std::string& from, const Shape& image) {
  const auto damaged = [&](const std::string& what) {
    fail("start all processes alike", "the chains of {} are damaged: {}", from, what);
  };
  const io::SafetensorsFile file(from, bytes);
  AisBatch batch = batch_from(object_of(file, "batch", damaged));
  if (!fits(batch)) damaged("lists of unequal length");
  if (file.find("x") && !read_images(file, image, batch)) damaged("images of another shape");
  return batch;
}

}  // namespace mdsm::eval
