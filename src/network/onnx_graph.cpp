#include "network/onnx_graph.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "core/error.h"

// Field numbers are those of onnx.proto3.
namespace mdsm::network {
namespace {

using io::ProtobufMessage;

constexpr int64_t kFloat = 1, kInt64 = 7;                           // TensorProto.DataType
constexpr int64_t kInteger = 2, kText = 3, kIntegers = 7;           // AttributeProto.AttributeType
constexpr int64_t kFileVersion = 7, kOperators = 13;                // what came out together
constexpr size_t kLargest = (size_t{1} << 31) - (size_t{1} << 20);  // of a message, less its frame

ProtobufMessage value_info(const std::string& name, const std::vector<OnnxGraph::Extent>& shape) {
  ProtobufMessage extents;
  for (const auto& [value, free] : shape)
    extents.message(1, free.empty() ? ProtobufMessage().integer(1, value) : ProtobufMessage().text(2, free));
  const ProtobufMessage tensor = ProtobufMessage().integer(1, kFloat).message(2, extents);
  return ProtobufMessage().text(1, name).message(2, ProtobufMessage().message(1, tensor));
}

ProtobufMessage attribute_message(const OnnxGraph::Attribute& attribute) {
  ProtobufMessage out;
  out.text(1, attribute.name);
  if (!attribute.text.empty()) return out.text(4, attribute.text).integer(20, kText);
  if (!attribute.list) return out.integer(3, attribute.integers.at(0)).integer(20, kInteger);
  for (const int64_t value : attribute.integers) out.integer(8, value);
  return out.integer(20, kIntegers);
}

template <class T>
std::string_view bytes_of(const std::vector<T>& values) {
  return {reinterpret_cast<const char*>(values.data()), values.size() * sizeof(T)};
}

}  // namespace

OnnxGraph::Name OnnxGraph::input(const Name& name, const std::vector<Extent>& shape) {
  inputs_.push_back(value_info(name, shape));
  return name;
}

void OnnxGraph::output(const Name& name, const std::vector<Extent>& shape) {
  outputs_.push_back(value_info(name, shape));
}

OnnxGraph::Name OnnxGraph::node(const std::string& op, const std::vector<Name>& inputs, const Name& result,
                                const std::vector<Attribute>& attributes, int results) {
  ProtobufMessage out;
  for (const Name& name : inputs) out.text(1, name);
  for (int i = 0; i < results; ++i) out.text(2, i == 0 ? result : fmt::format("{}.{}", result, i));
  out.text(3, result).text(4, op);
  for (const Attribute& attribute : attributes) out.message(5, attribute_message(attribute));
  nodes_.push_back(std::move(out));
  return result;
}

bool OnnxGraph::known(const Name& name) {
  if (std::ranges::find(constants_, name) != constants_.end()) return true;
  constants_.push_back(name);
  return false;
}

OnnxGraph::Name OnnxGraph::tensor(const Name& name, int64_t type, const std::vector<int64_t>& shape,
                                  std::string_view bytes) {
  if (known(name)) return name;
  ProtobufMessage out;
  for (const int64_t extent : shape) out.integer(1, extent);
  out.integer(2, type).text(8, name).text(9, bytes);
  tensors_.push_back(std::move(out));
  return name;
}

OnnxGraph::Name OnnxGraph::weights(const Name& name, const std::vector<int64_t>& shape,
                                   std::span<const float> values) {
  return tensor(name, kFloat, shape, {reinterpret_cast<const char*>(values.data()), values.size_bytes()});
}

OnnxGraph::Name OnnxGraph::scalar(double value) {
  return tensor(fmt::format("{}", value), kFloat, {}, bytes_of(std::vector{static_cast<float>(value)}));
}

OnnxGraph::Name OnnxGraph::integers(const std::vector<int64_t>& values) {
  return tensor(fmt::format("[{}]", fmt::join(values, ",")), kInt64, {static_cast<int64_t>(values.size())},
                bytes_of(values));
}

OnnxGraph::Name OnnxGraph::scales(const std::vector<float>& values) {
  return tensor(fmt::format("scales {}", fmt::join(values, ",")), kFloat,
                {static_cast<int64_t>(values.size())}, bytes_of(values));
}

void OnnxGraph::write(const fs::path& path, const std::string& producer_version,
                      const std::vector<std::pair<std::string, std::string>>& metadata) const {
  ProtobufMessage graph;
  for (const ProtobufMessage& node : nodes_) graph.message(1, node);
  graph.text(2, name_);
  for (const ProtobufMessage& tensor : tensors_) graph.message(5, tensor);
  for (const ProtobufMessage& value : inputs_) graph.message(11, value);
  for (const ProtobufMessage& value : outputs_) graph.message(12, value);
  if (graph.bytes().size() > kLargest)
    fail("export a state dict instead (.pt)",
         "{}: a network of {} MB does not fit an ONNX file, 2 GB at most", path.string(),
         graph.bytes().size() >> 20);
  ProtobufMessage model;
  model.integer(1, kFileVersion).text(2, "mdsm").text(3, producer_version).message(7, graph);
  model.message(8, ProtobufMessage().text(1, "").integer(2, kOperators));
  for (const auto& [key, value] : metadata) model.message(14, ProtobufMessage().text(1, key).text(2, value));
  write_file(path, model.bytes());
}

}  // namespace mdsm::network
