// Checks the instructions of a method of a .pte file, and finds what they write to.
#include <algorithm>
#include <set>

#include "backends/executorch/check_calls.h"
#include "backends/executorch/read_parts.h"
#include "base/json.h"

namespace slipway::executorch::reading {
namespace {

class InstructionReader {
 public:
  InstructionReader(const File& file, const fb::ExecutionPlan& plan, MethodOutline& method)
      : file_(file), plan_(plan), method_(method), calls_(file, plan, method) {}

  void run() {
    for (uint32_t i = 0; i < plan_.chains()->size(); ++i) read_chain(i);
    calls_.finish();
    for (Port& input : method_.inputs) input.written = written_.contains(input.value);
    method_.unnamed_state = has_unnamed_state();
  }

 private:
  void need(bool condition, std::string_view what) const {
    if (!condition) file_.fail(fmt::format("method {}: {}", quote(method_.name), what));
  }
  const fb::EValue& value(int64_t id) const {
    need(id >= 0 && static_cast<uint64_t>(id) < plan_.values()->size(),
         fmt::format("there is no value {}", id));
    return *plan_.values()->Get(static_cast<uint32_t>(id));
  }
  void line(const std::string& text) { method_.listing += "  " + text + "\n"; }

  void read_chain(uint32_t number) {
    const fb::Chain* chain = plan_.chains()->Get(number);
    need(chain && chain->instructions(), "a chain has no instructions");
    const auto& instructions = *chain->instructions();
    for (uint32_t i = 0; i < instructions.size(); ++i) {
      const auto* instruction = instructions.Get(i);
      calls_.begin(number, i);
      need(instruction && instruction->instr_args(), "an instruction is missing");
      if (const auto* call = instruction->instr_args_as_KernelCall()) {
        read_kernel_call(*call);
      } else if (const auto* run = instruction->instr_args_as_DelegateCall()) {
        read_delegate_call(*run);
      } else if (const auto* move = instruction->instr_args_as_MoveCall()) {
        value(move->move_from()), value(move->move_to());
        calls_.move(move->move_from(), move->move_to());
        line(fmt::format("{} = {}", move->move_to(), move->move_from()));
      } else if (const auto* jump = instruction->instr_args_as_JumpFalseCall()) {
        value(jump->cond_value_index());
        need(jump->destination_instruction() >= 0 &&
                 static_cast<uint32_t>(jump->destination_instruction()) <= instructions.size(),
             "a jump leaves the method");
        calls_.jump(jump->cond_value_index());
        line(fmt::format("unless {} go to {}", jump->cond_value_index(),
                         jump->destination_instruction()));
      } else if (const auto* free = instruction->instr_args_as_FreeCall()) {
        value(free->value_index());
        calls_.free(free->value_index());
        line(fmt::format("free {}", free->value_index()));
      } else {
        throw Error(kUnsupported,
                    fmt::format("[executorch] {} has an instruction of kind {}, which "
                                "this version does not know",
                                file_.where, static_cast<int>(instruction->instr_args_type())));
      }
    }
  }

  std::string arguments(const flatbuffers::Vector<int32_t>* args) const {
    need(args != nullptr, "an instruction has no arguments");
    std::string text;
    for (const int32_t id : *args) {
      value(id);
      text += fmt::format("{}{}", text.empty() ? "" : ", ", id);
    }
    return text;
  }

  void read_kernel_call(const fb::KernelCall& call) {
    const auto* ops = plan_.operators();
    need(ops && call.op_index() >= 0 && static_cast<uint32_t>(call.op_index()) < ops->size(),
         fmt::format("there is no op {}", call.op_index()));
    const auto* op = ops->Get(static_cast<uint32_t>(call.op_index()));
    need(op && op->name(), "an op has no name");
    std::string name = op->name()->str();
    if (op->overload() && op->overload()->size() > 0) name += "." + op->overload()->str();
    ++method_.op_counts[name];
    line(fmt::format("{}({})", name, arguments(call.args())));
    const CallChecker::Effect effect = calls_.kernel(name, *call.args());
    for (const int32_t id : effect.reads) read(id);
    for (const int32_t id : effect.writes) write(id);
  }

  void read_delegate_call(const fb::DelegateCall& call) {
    const int32_t index = call.delegate_index();
    need(index >= 0 && static_cast<size_t>(index) < method_.delegates.size(),
         fmt::format("there is no delegate {}", index));
    line(fmt::format("delegate {}({})", index, arguments(call.args())));
    const DelegatePort& delegate = method_.delegates[static_cast<size_t>(index)];
    const auto& args = *call.args();
    need(args.size() >= delegate.externals,
         fmt::format("delegate {} is called with {} values, has {} inputs and outputs", index,
                     args.size(), delegate.externals));
    calls_.delegate(delegate, args);
    const bool xnnpack = delegate.id == "XnnpackBackend";
    std::set<uint32_t> outputs;
    for (const DelegateArgument& argument : delegate.arguments)
      if (argument.output) outputs.insert(argument.place);
    for (uint32_t i = 0; i < args.size(); ++i) {
      const bool output = outputs.contains(i);
      if (!output) read(args.Get(i));
      if (output || !xnnpack) write(args.Get(i));
    }
  }

  void read(int32_t id) {
    if (!written_.contains(id)) read_first_.insert(id);
  }
  /// What was read before anything wrote to it has lived since the run before.
  void write(int32_t id) {
    if (read_first_.contains(id)) kept_.insert(id);
    written_.insert(id);
  }

  /// Memory of the arena that is kept, is no input and has no name.
  bool has_unnamed_state() const {
    const auto& inputs = *plan_.inputs();
    return std::any_of(kept_.begin(), kept_.end(), [&](int32_t id) {
      const auto* tensor = value(id).val_as_Tensor();
      if (!tensor || !tensor->allocation_info()) return false;
      const auto* extra = tensor->extra_tensor_info();
      const bool named = extra && extra->fully_qualified_name();
      return !named && std::find(inputs.begin(), inputs.end(), id) == inputs.end();
    });
  }

  const File& file_;
  const fb::ExecutionPlan& plan_;
  MethodOutline& method_;
  CallChecker calls_;
  std::set<int32_t> written_, read_first_, kept_;
};

}  // namespace

void read_instructions(const File& file, const fb::ExecutionPlan& plan, MethodOutline& method) {
  InstructionReader(file, plan, method).run();
}

}  // namespace slipway::executorch::reading
