// Opening models: configuration, task, example inputs.
#include "slipway/model.h"

#include <fmt/format.h>

#include "export/impl.h"

namespace slipway {
namespace {

Tensor ones(Shape shape) {
  Tensor t(DType::kI64, std::move(shape));
  for (int64_t& v : t.mutable_values<int64_t>()) v = 1;
  return t;
}

}  // namespace

AutoConfig AutoConfig::from_pretrained(const std::filesystem::path& path) {
  const Checkpoint checkpoint = open_checkpoint(path);
  AutoConfig config;
  config.model_type_ = checkpoint.config.model_type();
  config.json_ = checkpoint.config.json().dump(2);
  if (const auto& json = checkpoint.config.json(); json.contains("architectures"))
    for (const auto& name : json["architectures"])
      if (name.is_string()) config.architectures_.push_back(name.get<std::string>());
  return config;
}

PreTrainedModel PreTrainedModel::from_pretrained(const std::filesystem::path& path,
                                                 const std::string& task,
                                                 const ModelOptions& options) {
  auto impl = std::make_shared<Impl>();
  impl->checkpoint = open_checkpoint(path);
  impl->type = &models::find_model(impl->checkpoint.config);
  impl->task = models::resolve_task(*impl->type, impl->checkpoint.config, task);
  impl->architecture = impl->task.head->architecture;
  impl->model_type = impl->type->name;
  if (options.dtype) {
    impl->dtype = *options.dtype;
    if (impl->dtype != DType::kF32 && impl->dtype != DType::kF16 && impl->dtype != DType::kBF16)
      throw Error(kUsage, fmt::format("[model] dtype {} is not one of float32, float16, bfloat16",
                                      torch_name(impl->dtype)));
  }
  return PreTrainedModel(std::move(impl));
}

const std::string& PreTrainedModel::architecture() const { return impl_->architecture; }
const std::string& PreTrainedModel::model_type() const { return impl_->model_type; }
const std::string& PreTrainedModel::task() const { return impl_->task.task; }
DType PreTrainedModel::dtype() const { return impl_->dtype; }

Inputs PreTrainedModel::example_inputs(int64_t batch_size, int64_t sequence_length) const {
  if (batch_size < 1 || sequence_length < 1)
    throw Error(kUsage, fmt::format("[model] got batch {} and length {}, need at least 1 of each",
                                    batch_size, sequence_length));
  const ExportedProgram program = models::build_program(
      impl_->checkpoint, impl_->task,
      {.dtype = impl_->dtype, .cache = impl_->task.cache, .dims = {}, .inputs = std::nullopt});
  const std::map<std::string, int64_t> sizes = {{"batch_size", batch_size},
                                                {"sequence_length", sequence_length},
                                                {"past_sequence_length", 0}};
  Inputs inputs;
  for (const Node* input : program.graph->inputs()) {
    Shape shape;
    for (Sym s : input->types[0].shape) shape.push_back(s.evaluate(sizes));
    const DType dtype = input->types[0].dtype;
    if (input->name == "input_ids" || input->name == "attention_mask")
      inputs[input->name] = ones(shape);
    else inputs[input->name] = Tensor(dtype, shape);
  }
  if (const auto at = inputs.find("position_ids"); at != inputs.end()) {
    const auto values = at->second.mutable_values<int64_t>();
    for (size_t i = 0; i < values.size(); ++i)
      values[i] = static_cast<int64_t>(i) % sequence_length;
  }
  return inputs;
}

}  // namespace slipway
