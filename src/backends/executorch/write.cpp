// Puts the pieces of a .pte file together.
#include "backends/executorch/write.h"

#include <nlohmann/json.hpp>
#include <numeric>
#include <set>

#include "backends/executorch/segments.h"
#include "backends/executorch/serialize_program.h"
#include "backends/executorch/serialize_xnnpack.h"
#include "backends/executorch/static_data.h"
#include "base/output.h"

namespace slipway::executorch {
namespace {

using Json = nlohmann::json;

/// Names and symbolic sizes of a method's inputs or outputs; bounds of their symbols into `dims`.
Json leaves(const Method& method, const std::vector<ValueId>& ids,
            const std::vector<std::string>& names, Json& dims) {
  Json list = Json::array();
  for (size_t i = 0; i < ids.size(); ++i) {
    Json leaf{{"name", names[i]}};
    const EValue& value = method.values[static_cast<size_t>(ids[i])];
    if (const auto* tensor = std::get_if<TensorValue>(&value)) {
      leaf["shape"] = Json::array();
      for (const Sym size : tensor->shape) {
        leaf["shape"].push_back(size.str());
        for (const Sym s : size.symbols()) dims[s.name()] = {s.bounds().lo, s.bounds().hi};
      }
    }
    list.push_back(std::move(leaf));
  }
  return list;
}

Json ranges_of(const std::map<std::string, ValueRange>& ranges) {
  Json json = Json::object();
  for (const auto& [name, range] : ranges) json[name] = {range.lo, range.hi};
  return json;
}

/// Symbols of several methods may have one name and other bounds: each has its own then.
std::string metadata_of(const Program& program) {
  Json all_dims = Json::object(), methods = Json::object();
  for (const Method& method : program.methods) {
    Json dims = Json::object();
    Json& entry = methods[method.name];
    entry["inputs"] = leaves(method, method.inputs, method.input_names, dims);
    entry["outputs"] = leaves(method, method.outputs, method.output_names, dims);
    (program.methods.size() == 1 ? all_dims : entry["dims"]) = std::move(dims);
    if (!method.value_ranges.empty()) entry["ranges"] = ranges_of(method.value_ranges);
    if (!method.metadata.empty()) entry["metadata"] = method.metadata;
  }
  return Json{{"producer", std::string("slipway ") + SLIPWAY_VERSION},
              {"dims", all_dims},
              {"methods", methods},
              {"ranges", ranges_of(program.value_ranges)},
              {"metadata", program.metadata}}
      .dump();
}

Program prepared(const Program& program) {
  verify(program);
  Program copy = program;
  for (Method& method : copy.methods) {
    pass_static_data(method);
    drop_unused_data(method);
  }
  return copy;
}

/// One file on its way.
class Writer {
 public:
  Writer(const Program& program, const PlanOptions& options) : program_(prepared(program)) {
    plans_ = plan(program_, options);
    for (const Method& method : program_.methods) {
      for (const EValue& value : method.values)
        if (const auto* tensor = std::get_if<TensorValue>(&value); tensor && tensor->data)
          tensor->storage == Storage::kConstant ? segments_.add_constant(tensor->data)
                                                : segments_.add_initial(tensor->data);
      for (const Delegate& delegate : method.delegates)
        for (const Lazy& data : xnnpack::static_data(delegate.graph)) segments_.add_named(data);
    }
    for (const Method& method : program_.methods) {
      auto& blocks = delegate_blocks_.emplace_back();
      for (const Delegate& delegate : method.delegates)
        blocks.push_back(segments_.add_block(bytes_of(delegate)));
    }
    segments_.add_block(metadata_of(program_), kMetadataKey);
    segments_.lay_out();
    const std::string text = serialize(program_, placement(), 0);
    program_bytes_ = static_cast<int64_t>(text.size());
    base_ = segment_base(text.size());
  }

  void write(const std::filesystem::path& path) {
    OutputFile file(path);
    file.reserve(base_ + segments_.size());
    // Digests of weights are part of the program and of the delegates' graphs.
    segments_.write_weights(file, base_);
    for (size_t i = 0; i < program_.methods.size(); ++i)
      for (size_t d = 0; d < delegate_blocks_[i].size(); ++d)
        segments_.replace_block(delegate_blocks_[i][d], bytes_of(program_.methods[i].delegates[d]));
    segments_.write_blocks(file, base_);
    std::string text = serialize(program_, placement(), base_);
    SLIPWAY_ASSERT(static_cast<int64_t>(text.size()) <= base_);
    text.resize(static_cast<size_t>(base_));
    file.append(text);
    file.close();
  }

  WriteSummary summary() const {
    WriteSummary summary;
    summary.file_bytes = base_ + segments_.size();
    summary.program_bytes = program_bytes_;
    std::set<const LazyTensor*> seen;
    const auto count = [&](const Lazy& data) {
      if (data && seen.insert(data.get()).second) summary.weight_bytes += data->nbytes();
    };
    for (size_t i = 0; i < program_.methods.size(); ++i) {
      const Method& method = program_.methods[i];
      for (const EValue& value : method.values)
        if (const auto* tensor = std::get_if<TensorValue>(&value)) count(tensor->data);
      for (const Delegate& delegate : method.delegates)
        for (const Lazy& data : xnnpack::static_data(delegate.graph)) count(data);
      const auto& arenas = plans_[i].arena_bytes;
      summary.arena_bytes[method.name] = std::accumulate(arenas.begin(), arenas.end(), int64_t{0});
      for (const Instruction& instruction : method.instructions) {
        summary.kernel_calls += std::holds_alternative<KernelCall>(instruction);
        summary.delegate_calls += std::holds_alternative<DelegateCall>(instruction);
      }
    }
    return summary;
  }

 private:
  std::string bytes_of(const Delegate& delegate) const {
    return xnnpack::serialize(delegate.graph,
                              [this](const Lazy& data) { return segments_.key(data); });
  }
  Placement placement() const { return {plans_, segments_, delegate_blocks_}; }

  Program program_;
  std::vector<MethodPlan> plans_;
  SegmentTable segments_;
  std::vector<std::vector<size_t>> delegate_blocks_;
  int64_t program_bytes_ = 0, base_ = 0;
};

}  // namespace

WriteSummary write(const Program& program, const std::filesystem::path& file,
                   const PlanOptions& options) {
  Writer writer(program, options);
  writer.write(file);
  return writer.summary();
}

WriteSummary measure(const Program& program, const PlanOptions& options) {
  return Writer(program, options).summary();
}

}  // namespace slipway::executorch
