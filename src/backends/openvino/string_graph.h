// Graphs of string ops as IR: types and many-output ops that the graphs of models have no words
// for.
#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace slipway::openvino {

enum class Element { kBool, kU8, kI32, kI64, kF32, kString };

/// -1 is a size that is known at run time only.
struct PortType {
  Element element = Element::kI32;
  std::vector<int64_t> dims;
};

inline const PortType kIntVector{Element::kI32, {-1}};
inline const PortType kByteVector{Element::kU8, {-1}};
inline const PortType kFlagVector{Element::kBool, {-1}};

/// An output of a layer.
struct Port {
  size_t layer = 0, port = 0;
};
using Ports = std::vector<Port>;
using Attributes = std::vector<std::pair<std::string, std::string>>;

/// One document of IR version 11 and its constants, built in memory: layers in the order of adding.
class StringGraph {
 public:
  explicit StringGraph(std::string name) : name_(std::move(name)) {}

  Port parameter(const std::string& name, PortType type);
  Port scalar(int32_t value);
  Port scalar64(int64_t value);
  Port flag(bool value);
  Port integers(std::span<const int32_t> values);
  Port floats(std::span<const float> values);
  /// One text: its bytes.
  Port text(std::string_view bytes);
  /// A list of texts as the extension takes it: begins, ends, bytes. Throws Error{kUnsupported}
  /// beyond 2 GiB.
  Ports texts(std::span<const std::string> list);

  /// An op with an output for each type. `set` is "extension" for ops of openvino_tokenizers.
  Ports add(std::string_view type, std::string_view set, const Attributes& attributes,
            const Ports& inputs, const std::vector<PortType>& outputs);
  void result(Port from, const std::string& name);

  const PortType& type(Port port) const { return layers_[port.layer].outputs[port.port]; }

  /// Writes `stem`.xml and `stem`.bin; `info` becomes rt_info, a value each. The same graph gives
  /// the same bytes.
  void write(const std::filesystem::path& stem,
             const std::map<std::string, std::string>& info) const;

 private:
  struct Layer {
    std::string type, set;
    Attributes attributes;  ///< of the element `data`
    Ports inputs;
    std::vector<PortType> outputs;
    std::string tensor_name;  ///< of a parameter, of a result's source
    bool is_result = false;
  };

  Port constant(PortType type, std::string_view bytes);
  std::string document(const std::map<std::string, std::string>& info) const;

  std::string name_;
  std::vector<Layer> layers_;
  std::string data_;
};

}  // namespace slipway::openvino
