// Example inputs as the zip of a pickle and its storages that torch.save writes.
#include "backends/dynamo/sample_inputs.h"

#include <fmt/format.h>

#include "backends/dynamo/archive_writer.h"
#include "backends/dynamo/pickle_writer.h"
#include "slipway/error.h"

namespace slipway::dynamo {
namespace {

const char* storage_class(DType dtype) {
  switch (dtype) {
    case DType::kF64:
      return "DoubleStorage";
    case DType::kF32:
      return "FloatStorage";
    case DType::kF16:
      return "HalfStorage";
    case DType::kBF16:
      return "BFloat16Storage";
    case DType::kI64:
      return "LongStorage";
    case DType::kI32:
      return "IntStorage";
    case DType::kI16:
      return "ShortStorage";
    case DType::kI8:
      return "CharStorage";
    case DType::kU8:
      return "ByteStorage";
    case DType::kBool:
      return "BoolStorage";
    default:
      throw Error(
          kUnsupported,
          fmt::format("[dynamo] an example input of dtype {} cannot be stored", torch_name(dtype)));
  }
}

class Writer {
 public:
  explicit Writer(const std::vector<SampleLeaf>& leaves) : leaves_(leaves) {}

  std::string take(const TreeSpec& spec) {
    write(spec);
    SLIPWAY_ASSERT(next_ == leaves_.size());
    ArchiveWriter archive("model");
    archive.add("data.pkl", pickle_.take());
    archive.add("byteorder", std::string("little"));
    for (size_t i = 0; i < storages_.size(); ++i)
      archive.add(fmt::format("data/{}", i), lazy_constant(storages_[i]));
    archive.add("version", std::string("3\n"));
    archive.add_digest(".data/serialization_id");
    return archive.bytes();
  }

 private:
  void write(const TreeSpec& spec) {
    if (spec.is_leaf()) return write_leaf(leaf(next_++));
    if (spec.type == "builtins.tuple" || spec.type == "builtins.list") {
      const bool list = spec.type == "builtins.list";
      if (list) pickle_.empty_list();
      pickle_.mark();
      for (const TreeSpec& child : spec.children) write(child);
      list ? pickle_.append_all() : pickle_.tuple();
    } else if (spec.type == "builtins.dict") {
      pickle_.empty_dict();
      pickle_.mark();
      for (size_t i = 0; i < spec.children.size(); ++i) {
        pickle_.text(spec.context.at(i).get_ref<const std::string&>());
        write(spec.children[i]);
      }
      pickle_.set_all();
    } else {
      const size_t first = next_;
      write_value(spec.context, first, spec.type);
      next_ = first + spec.children.size();
    }
  }

  /// What the reference's flattening describes: an object by its class and attributes, its tensors
  /// by number.
  void write_value(const Json& value, size_t first, const std::string& type) {
    if (value.is_object() && value.contains("_t")) return write_tagged(value, first, type);
    if (value.is_object()) return write_dict(value, first, type);
    if (value.is_array()) {
      pickle_.empty_list();
      pickle_.mark();
      for (const Json& item : value) write_value(item, first, type);
      return pickle_.append_all();
    }
    if (value.is_null()) pickle_.none();
    else if (value.is_boolean()) pickle_.boolean(value.get<bool>());
    else if (value.is_number_integer()) pickle_.integer(value.get<int64_t>());
    else if (value.is_number_float()) pickle_.number(value.get<double>());
    else pickle_.text(value.get_ref<const std::string&>());
  }

  void write_dict(const Json& items, size_t first, const std::string& type) {
    pickle_.empty_dict();
    pickle_.mark();
    for (const auto& [key, item] : items.items()) {
      pickle_.text(key);
      write_value(item, first, type);
    }
    pickle_.set_all();
  }

  void write_tagged(const Json& value, size_t first, const std::string& type) {
    const auto tag = value.at("_t").get<std::string>();
    if (tag == "tensor") {
      write_leaf(leaf(first + value.at("i").get<size_t>()));
    } else if (tag == "dtype") {
      pickle_.global("torch", value.at("n").get<std::string>());
    } else if (tag == "device") {
      pickle_.global("torch", "device");
      pickle_.mark();
      pickle_.text(value.at("s").get<std::string>());
      pickle_.tuple();
      pickle_.call();
    } else if (tag == "obj") {
      const auto path = value.at("p").get<std::string>();
      const size_t colon = path.find(':');
      if (colon == path.npos) fail(type, path);
      pickle_.global(path.substr(0, colon), path.substr(colon + 1));
      pickle_.empty_tuple();
      pickle_.new_object();
      write_dict(value.at("s"), first, type);
      pickle_.build();
    } else {
      fail(type, tag);
    }
  }

  void write_constant(const schema::ConstantValue& constant) {
    if (const auto* flag = std::get_if<bool>(&constant.value)) pickle_.boolean(*flag);
    else if (const auto* number = std::get_if<int64_t>(&constant.value)) pickle_.integer(*number);
    else if (const auto* real = std::get_if<double>(&constant.value)) pickle_.number(*real);
    else if (const auto* text = std::get_if<std::string>(&constant.value)) pickle_.text(*text);
    else pickle_.none();
  }

  void write_leaf(const SampleLeaf& leaf) {
    if (leaf.constant) return write_constant(*leaf.constant);
    const bool zeros = !leaf.tensor.defined() && numel(leaf.shape) > 0;
    if (zeros) {  // one element seen everywhere, and its own memory when it is loaded
      pickle_.global("torch", "zeros_like");
      pickle_.mark();
    }
    Shape strides(leaf.shape.size(), 0);
    for (int64_t i = static_cast<int64_t>(strides.size()) - 1, step = 1; i >= 0 && !zeros; --i) {
      strides[static_cast<size_t>(i)] = step;
      step *= leaf.shape[static_cast<size_t>(i)];
    }
    storages_.push_back(leaf.tensor.defined() ? leaf.tensor
                                              : Tensor(leaf.dtype, {zeros ? int64_t{1} : 0}));
    pickle_.global("torch._utils", "_rebuild_tensor_v2");
    pickle_.mark();
    pickle_.mark();
    pickle_.text("storage");
    pickle_.global("torch", storage_class(leaf.dtype));
    pickle_.text(std::to_string(storages_.size() - 1));
    pickle_.text("cpu");
    pickle_.integer(storages_.back().numel());
    pickle_.tuple();
    pickle_.persistent();
    pickle_.integer(0);
    write_ints(leaf.shape);
    write_ints(strides);
    pickle_.boolean(false);
    pickle_.global("collections", "OrderedDict");
    pickle_.empty_tuple();
    pickle_.call();
    pickle_.tuple();
    pickle_.call();
    if (!zeros) return;
    pickle_.tuple();
    pickle_.call();
  }

  void write_ints(const Shape& values) {
    pickle_.mark();
    for (const int64_t value : values) pickle_.integer(value);
    pickle_.tuple();
  }

  const SampleLeaf& leaf(size_t i) const {
    SLIPWAY_ASSERT(i < leaves_.size());
    return leaves_[i];
  }

  [[noreturn]] static void fail(const std::string& type, const std::string& what) {
    throw Error(kUnsupported, fmt::format("[dynamo] example inputs of class {} cannot be stored: "
                                          "'{}' in its tree spec is not known",
                                          type, what));
  }

  const std::vector<SampleLeaf>& leaves_;
  size_t next_ = 0;
  PickleWriter pickle_;
  std::vector<Tensor> storages_;
};

}  // namespace

std::string sample_inputs(const TreeSpec& in_spec, const std::vector<SampleLeaf>& leaves) {
  return Writer(leaves).take(in_spec);
}

}  // namespace slipway::dynamo
