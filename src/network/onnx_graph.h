// A graph of ONNX operators under construction, and its file. Operators are those of operator set 13, which
// every runtime of the last years has. Knows nothing of our networks.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <span>
#include <string>
#include <vector>

#include "core/files.h"
#include "io/protobuf.h"

namespace mdsm::network {

// Values are their names. Names of constants are what they hold, so that equal ones are one.
class OnnxGraph {
 public:
  using Name = std::string;
  struct Extent {  // a number, or a name for what every call may choose
    int64_t value = 0;
    std::string free{};
  };
  struct Attribute {
    std::string name;
    std::vector<int64_t> integers{};  // one of them is a number, unless `list`
    std::string text{};
    bool list = false;
  };

  explicit OnnxGraph(std::string name) : name_(std::move(name)) {}

  Name input(const Name& name, const std::vector<Extent>& shape);
  void output(const Name& name, const std::vector<Extent>& shape);
  // The operator's result under this name; several results: name, name.1, name.2, ...
  Name node(const std::string& op, const std::vector<Name>& inputs, const Name& result,
            const std::vector<Attribute>& attributes = {}, int results = 1);
  Name weights(const Name& name, const std::vector<int64_t>& shape, std::span<const float> values);
  Name scalar(double value);
  Name integers(const std::vector<int64_t>& values);
  Name scales(const std::vector<float>& values);

  // metadata: text to text. Fails where the format's limit of 2 GB is passed.
  void write(const fs::path& path, const std::string& producer_version,
             const std::vector<std::pair<std::string, std::string>>& metadata) const;

 private:
  bool known(const Name& name);
  Name tensor(const Name& name, int64_t type, const std::vector<int64_t>& shape, std::string_view bytes);

  std::string name_;
  std::vector<io::ProtobufMessage> nodes_, tensors_, inputs_, outputs_;
  std::vector<Name> constants_;
};

}  // namespace mdsm::network
