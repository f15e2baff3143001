// Small ONNX files for the tests of this folder, made from the message classes directly.
#pragma once

#include <onnx/onnx-ml.pb.h>
#include <stdlib.h>

#include <filesystem>
#include <fstream>
#include <string>
#include <utility>
#include <vector>

namespace slipway::test {

/// A folder that goes away with the test.
class TempDir {
 public:
  TempDir() {
    std::string pattern = (std::filesystem::temp_directory_path() / "slipway-XXXXXX").string();
    path_ = mkdtemp(pattern.data());
  }
  ~TempDir() {
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
  }
  TempDir(const TempDir&) = delete;
  TempDir& operator=(const TempDir&) = delete;
  std::filesystem::path operator/(const std::string& name) const { return path_ / name; }
  const std::filesystem::path& path() const { return path_; }

 private:
  std::filesystem::path path_;
};

inline void write(const std::filesystem::path& path, const std::string& bytes) {
  std::ofstream(path, std::ios::binary) << bytes;
}

inline constexpr int kFloat = onnx::TensorProto::FLOAT;
inline constexpr int kInt64 = onnx::TensorProto::INT64;

/// An ONNX model under construction. Dims are names, sums, or numbers as text.
class Graph {
 public:
  Graph() {
    model_.set_ir_version(9);
    auto* opset = model_.add_opset_import();
    opset->set_domain("");
    opset->set_version(18);
    model_.mutable_graph()->set_name("test");
  }

  Graph& input(const std::string& name, int type, const std::vector<std::string>& dims) {
    describe(*model_.mutable_graph()->add_input(), name, type, dims);
    return *this;
  }
  Graph& output(const std::string& name, int type, const std::vector<std::string>& dims) {
    describe(*model_.mutable_graph()->add_output(), name, type, dims);
    return *this;
  }
  Graph& node(const std::string& op, const std::vector<std::string>& inputs,
              const std::string& output,
              const std::vector<std::pair<std::string, int>>& ints = {}) {
    auto* made = model_.mutable_graph()->add_node();
    made->set_op_type(op);
    made->set_name(output);
    for (const std::string& name : inputs) made->add_input(name);
    made->add_output(output);
    for (const auto& [name, value] : ints) {
      auto* attribute = made->add_attribute();
      attribute->set_name(name);
      attribute->set_type(onnx::AttributeProto::INT);
      attribute->set_i(value);
    }
    return *this;
  }
  template <class T>
  Graph& constant(const std::string& name, const std::vector<int64_t>& dims,
                  const std::vector<T>& values) {
    auto* tensor = model_.mutable_graph()->add_initializer();
    tensor->set_name(name);
    tensor->set_data_type(std::is_same_v<T, float> ? kFloat : kInt64);
    for (const int64_t dim : dims) tensor->add_dims(dim);
    tensor->set_raw_data(values.data(), values.size() * sizeof(T));
    return *this;
  }
  /// A float initializer at the start of a file beside the model.
  Graph& external(const std::string& name, int64_t count, const std::string& location) {
    auto* tensor = model_.mutable_graph()->add_initializer();
    tensor->set_name(name);
    tensor->set_data_type(kFloat);
    tensor->add_dims(count);
    tensor->set_data_location(onnx::TensorProto::EXTERNAL);
    const auto entry = [&](const std::string& key, const std::string& value) {
      auto* added = tensor->add_external_data();
      added->set_key(key);
      added->set_value(value);
    };
    entry("location", location);
    entry("offset", "0");
    entry("length", std::to_string(count * 4));
    return *this;
  }
  Graph& metadata(const std::string& key, const std::string& value) {
    auto* entry = model_.add_metadata_props();
    entry->set_key(key);
    entry->set_value(value);
    return *this;
  }

  std::string bytes() const { return model_.SerializeAsString(); }
  std::filesystem::path save(const std::filesystem::path& path) const {
    write(path, bytes());
    return path;
  }

 private:
  static void describe(onnx::ValueInfoProto& info, const std::string& name, int type,
                       const std::vector<std::string>& dims) {
    info.set_name(name);
    auto* tensor = info.mutable_type()->mutable_tensor_type();
    tensor->set_elem_type(type);
    for (const std::string& dim : dims) {
      auto* added = tensor->mutable_shape()->add_dim();
      if (dim.find_first_not_of("0123456789") == std::string::npos)
        added->set_dim_value(std::stoll(dim));
      else added->set_dim_param(dim);
    }
  }

  onnx::ModelProto model_;
};

/// y = x + w, w = 1, 2, 3, 4 in "model.onnx.data" beside the model.
inline std::filesystem::path save_external_model(const std::filesystem::path& folder) {
  const float weights[] = {1, 2, 3, 4};
  write(folder / "model.onnx.data", {reinterpret_cast<const char*>(weights), sizeof(weights)});
  return Graph()
      .input("x", kFloat, {"n", "4"})
      .output("y", kFloat, {"n", "4"})
      .external("w", 4, "model.onnx.data")
      .node("Add", {"x", "w"}, "y")
      .save(folder / "model.onnx");
}

/// The interface of a decoder with a growing cache: logits are rows of a table of 8, the cache
/// grows by them, and what the graph saw as mask and positions comes out again.
inline Graph decoder() {
  std::vector<float> table;
  for (int i = 0; i < 16; ++i) table.push_back(static_cast<float>(i) / 4);
  const std::string past = "input.past_key_values.layers.0.keys";
  const std::string present = "output.past_key_values.layers.0.keys";
  const std::string total = "past_sequence_length + sequence_length";
  Graph graph;
  graph.input("input_ids", kInt64, {"batch_size", "sequence_length"})
      .input("attention_mask", kInt64, {"batch_size", total})
      .input("position_ids", kInt64, {"batch_size", "sequence_length"})
      .input(past, kFloat, {"batch_size", "1", "past_sequence_length", "2"})
      .output("logits", kFloat, {"batch_size", "sequence_length", "2"})
      .output("mask", kInt64, {"batch_size", total})
      .output("positions", kInt64, {"batch_size", "sequence_length"})
      .output(present, kFloat, {"batch_size", "1", total, "2"})
      .constant<float>("table", {8, 2}, table)
      .constant<int64_t>("one", {1}, {1})
      .node("Gather", {"table", "input_ids"}, "logits")
      .node("Unsqueeze", {"logits", "one"}, "rows")
      .node("Concat", {past, "rows"}, present, {{"axis", 2}})
      .node("Identity", {"attention_mask"}, "mask")
      .node("Identity", {"position_ids"}, "positions")
      .metadata("slipway.ranges", R"({"input_ids": [0, 7]})")
      .metadata("slipway.dims", R"({"sequence_length": [1, 16],
        "past_sequence_length + sequence_length": [1, 18]})");
  return graph;
}

}  // namespace slipway::test
