// What is recorded about the export of a traced program.
#include <fmt/format.h>

#include "base/pytree.h"
#include "export/torch_program.h"

namespace slipway {
namespace {

ScalarConstant constant_of(const dynamo::schema::ConstantValue& value) {
  if (const auto* integer = std::get_if<int64_t>(&value.value)) return *integer;
  if (const auto* number = std::get_if<double>(&value.value)) return *number;
  if (const auto* text = std::get_if<std::string>(&value.value)) return *text;
  if (const auto* flag = std::get_if<bool>(&value.value)) return *flag;
  return std::monostate{};
}

ScalarConstant constant_of(const dynamo::schema::Argument& argument, int64_t leaf) {
  if (argument.get<dynamo::schema::None>() != nullptr) return std::monostate{};
  if (const auto* integer = argument.get<int64_t>()) return *integer;
  if (const auto* number = argument.get<double>()) return *number;
  if (const auto* text = argument.get<std::string>()) return *text;
  if (const auto* flag = argument.get<bool>()) return *flag;
  throw Error(kUnsupported, fmt::format("[pt2] leaf {} of what the program returns is {}: return "
                                        "tensors and constants only",
                                        leaf, argument.tag()));
}

/// "DynamicCache" of "transformers.cache_utils:DynamicCache".
std::string class_of(const std::string& type) {
  const size_t at = type.find_last_of(".:");
  return at == type.npos ? type : type.substr(at + 1);
}

/// The kwargs of the call by the tree: tensors, mappings of tensors, objects.
void add_kwargs(ExportMetadata& metadata, const dynamo::Imported& imported) {
  const TreeSpec call = parse_tree_spec(imported.in_spec, "in_spec");
  if (call.children.size() != 2 || !call.children[1].context.is_array()) return;
  const TreeSpec& kwargs = call.children[1];
  std::map<std::string, TracedKwarg> tensors;
  const auto& inputs = imported.program.graph->inputs();
  for (size_t i = 0; i < inputs.size(); ++i)
    tensors.emplace(inputs[i]->name,
                    TracedKwarg::tensor(imported.example_shapes[i],
                                        std::string(torch_name(inputs[i]->types[0].dtype))));
  for (size_t i = 0; i < kwargs.children.size() && i < kwargs.context.size(); ++i) {
    if (!kwargs.context[i].is_string()) continue;
    const auto name = kwargs.context[i].get<std::string>();
    const TreeSpec& child = kwargs.children[i];
    if (child.is_leaf()) {
      if (const auto at = tensors.find(name); at != tensors.end())
        metadata.kwargs.emplace_back(name, at->second);
    } else if (child.type == "builtins.dict") {
      std::vector<std::pair<std::string, TracedKwarg>> leaves;
      for (const auto& [leaf, kwarg] : tensors)
        if (leaf.starts_with(name + ".")) leaves.emplace_back(leaf.substr(name.size() + 1), kwarg);
      metadata.kwargs.emplace_back(name, TracedKwarg::mapping(std::move(leaves)));
    } else {
      metadata.kwargs.emplace_back(name, TracedKwarg::of_class(class_of(child.type)));
    }
  }
}

}  // namespace

ExportMetadata metadata_of(const TorchProgram& program, const ExportConfig& config) {
  const TorchProgram::Impl& impl = program.impl();
  const dynamo::Imported& imported = impl.imported;
  ExportMetadata metadata;
  if (impl.recorded) metadata = *impl.recorded;
  metadata.architecture = program.architecture();
  metadata.packages = {{"slipway", SLIPWAY_VERSION}, {"torch", impl.file.program.torch_version}};
  metadata.export_config = config.to_json_string();
  metadata.export_dtype = std::string(torch_name(program.dtype()));
  metadata.export_device = "cpu";
  metadata.in_spec = imported.in_spec;
  metadata.out_spec = imported.out_spec;
  if (!impl.recorded) {
    add_kwargs(metadata, imported);
    for (const auto& [name, value] : imported.in_constants)
      metadata.in_constants.emplace_back(name, constant_of(value));
    for (const auto& [leaf, argument] : imported.out_constants)
      metadata.out_constants.emplace_back(leaf, constant_of(argument, leaf));
  }
  return metadata;
}

}  // namespace slipway
