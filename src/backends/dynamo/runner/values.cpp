// The named values of a graph while it is turned into code.
#include "backends/dynamo/runner/values.h"

#include <fmt/format.h>

#include "backends/dynamo/runner/enums.h"
#include "backends/dynamo/runner/memory.h"
#include "base/json.h"
#include "slipway/error.h"

namespace slipway::dynamo_runner {
namespace {

namespace schema = dynamo::schema;
using c10::IValue;
using c10::TypeKind;
using Kind = Operand::Kind;

/// A declared type without the question mark, and its element type where it is a list.
struct Wanted {
  explicit Wanted(const c10::Argument& argument) : size(argument.N()) {
    type = argument.type();
    if (const auto optional = type->cast<c10::OptionalType>()) type = optional->getElementType();
    if (const auto list = type->cast<c10::ListType>()) element = list->getElementType();
  }
  TypeKind kind() const { return type->kind(); }
  bool is_list() const { return element != nullptr; }
  TypeKind element_kind() const { return element->kind(); }

  c10::TypePtr type, element;
  std::optional<int32_t> size;  ///< of a list that one number may stand for
};

bool is_integer(TypeKind kind) { return kind == TypeKind::IntType || kind == TypeKind::SymIntType; }
bool is_float(TypeKind kind) {
  return kind == TypeKind::FloatType || kind == TypeKind::SymFloatType;
}
bool is_bool(TypeKind kind) { return kind == TypeKind::BoolType || kind == TypeKind::SymBoolType; }

/// Reads one argument; the overloads of read() are the kinds of schema 8.20.
class Reader {
 public:
  Reader(const c10::Argument& declared, c10::Device device, Values& values, const char* tag)
      : declared_(declared), wanted_(declared), device_(device), values_(values), tag_(tag) {}

  Operand read(const schema::None&) const {
    const bool may_be_none = declared_.type()->kind() == TypeKind::OptionalType;
    if (wanted_.kind() == TypeKind::TensorType && !may_be_none)
      return constant(IValue(at::Tensor()));
    return constant(IValue());
  }
  Operand read(const schema::TensorArgument& tensor) const {
    if (wanted_.is_list()) return read(std::vector{tensor});
    // A size stands for a tensor of no dimensions and the other way round in no op of ATen.
    need(wanted_.kind() == TypeKind::TensorType || wanted_.kind() == TypeKind::NumberType);
    return values_.use(tensor.name);
  }
  Operand read(const schema::OptionalTensorArgument& tensor) const {
    if (const auto* given = std::get_if<schema::TensorArgument>(&tensor.value)) return read(*given);
    return read(schema::None{});
  }
  Operand read(const std::vector<schema::TensorArgument>& tensors) const {
    need(wanted_.is_list());
    std::vector<Operand> items;
    for (const auto& tensor : tensors) items.push_back(values_.use(tensor.name));
    return tensor_list(std::move(items));
  }
  Operand read(const std::vector<schema::OptionalTensorArgument>& tensors) const {
    need(wanted_.is_list());
    std::vector<Operand> items;
    for (const auto& tensor : tensors) {
      const auto* given = std::get_if<schema::TensorArgument>(&tensor.value);
      items.push_back(given != nullptr ? values_.use(given->name) : constant(IValue()));
    }
    return tensor_list(std::move(items));
  }

  Operand read(int64_t number) const { return number_constant(IValue(number)); }
  Operand read(double number) const { return number_constant(IValue(number)); }
  Operand read(bool value) const { return number_constant(IValue(value)); }
  Operand read(const schema::ComplexValue& value) const {
    return number_constant(IValue(c10::complex<double>(value.real, value.imag)));
  }
  Operand read(const schema::SymIntArgument& number) const { return symbolic(number); }
  Operand read(const schema::SymFloatArgument& number) const { return symbolic(number); }
  Operand read(const schema::SymBoolArgument& number) const { return symbolic(number); }
  Operand read(const std::vector<int64_t>& numbers) const { return numbers_list(numbers); }
  Operand read(const std::vector<double>& numbers) const { return numbers_list(numbers); }
  Operand read(const std::vector<bool>& numbers) const { return numbers_list(numbers); }
  Operand read(const std::vector<schema::SymIntArgument>& numbers) const {
    return symbolic_list(numbers);
  }
  Operand read(const std::vector<schema::SymFloatArgument>& numbers) const {
    return symbolic_list(numbers);
  }
  Operand read(const std::vector<schema::SymBoolArgument>& numbers) const {
    return symbolic_list(numbers);
  }

  Operand read(const std::string& text) const {
    if (wanted_.kind() == TypeKind::DeviceObjType) return constant(IValue(device_));
    need(wanted_.kind() == TypeKind::StringType);
    return constant(IValue(text));
  }
  Operand read(const std::vector<std::string>& texts) const {
    need(wanted_.is_list() && wanted_.element_kind() == TypeKind::StringType);
    c10::List<std::string> list;
    for (const std::string& text : texts) list.push_back(text);
    return constant(IValue(list));
  }
  Operand read(const schema::ScalarType& type) const { return enumeration(scalar_type(type)); }
  Operand read(const schema::MemoryFormat& format) const {
    return enumeration(memory_format(format));
  }
  Operand read(const schema::Layout& kind) const { return enumeration(layout(kind)); }
  Operand read(const schema::Device&) const {
    need(wanted_.kind() == TypeKind::DeviceObjType);
    return constant(IValue(device_));
  }
  Operand read(const std::vector<std::vector<int64_t>>& lists) const { return nested(lists); }
  Operand read(const std::vector<std::vector<double>>& lists) const { return nested(lists); }

  Operand read(const auto&) const {
    throw Error(kUnsupported, fmt::format("argument {} is {}, which the runner does not take",
                                          quote(declared_.name()), tag_));
  }

 private:
  void need(bool fits) const {
    if (!fits)
      throw Error(kInvalid, fmt::format("argument {} is {}, the op declares {}",
                                        quote(declared_.name()), tag_, declared_.type()->str()));
  }

  Operand constant(IValue value) const { return values_.constant(std::move(value)); }

  Operand enumeration(auto value) const {
    need(is_integer(wanted_.kind()));
    return constant(IValue(static_cast<int64_t>(value)));
  }

  /// A number as the declared scalar type takes it.
  IValue convert(const IValue& number, TypeKind kind) const {
    if (kind == TypeKind::NumberType) return number;
    if (is_integer(kind)) {
      need(number.isInt() || number.isBool());
      return number.isBool() ? IValue(static_cast<int64_t>(number.toBool())) : number;
    }
    if (is_float(kind)) {
      need(!number.isComplexDouble());
      return number.isDouble() ? number
                               : IValue(number.isBool() ? static_cast<double>(number.toBool())
                                                        : static_cast<double>(number.toInt()));
    }
    if (kind == TypeKind::ComplexType) return number;
    need(is_bool(kind) && number.isBool());
    return number;
  }

  Operand number_constant(const IValue& number) const {
    if (wanted_.kind() == TypeKind::TensorType) return constant(IValue(number_tensor(number)));
    if (!wanted_.is_list()) return constant(convert(number, wanted_.kind()));
    // One number stands for a list of declared length.
    need(wanted_.size.has_value());
    const std::vector<Operand> items(static_cast<size_t>(std::max(*wanted_.size, 1)),
                                     constant(convert(number, wanted_.element_kind())));
    return number_list(items);
  }

  Operand number_list(std::vector<Operand> items) const {
    const TypeKind kind = wanted_.element_kind();
    need(is_integer(kind) || is_float(kind) || is_bool(kind));
    return values_.list(is_integer(kind) ? Kind::kInts
                        : is_float(kind) ? Kind::kFloats
                                         : Kind::kBools,
                        std::move(items));
  }

  Operand tensor_list(std::vector<Operand> items) const {
    if (wanted_.element_kind() == TypeKind::TensorType)
      return values_.list(Kind::kTensors, std::move(items));
    const auto optional = wanted_.element->cast<c10::OptionalType>();
    need(optional && optional->getElementType()->kind() == TypeKind::TensorType);
    return values_.list(Kind::kOptionalTensors, std::move(items));
  }

  template <class T>
  Operand numbers_list(const std::vector<T>& numbers) const {
    need(wanted_.is_list());
    const TypeKind kind = wanted_.element_kind();
    if (is_integer(kind)) {
      c10::List<int64_t> list;
      for (const T number : numbers) list.push_back(convert(IValue(number), kind).toInt());
      return constant(IValue(list));
    }
    if (is_float(kind)) {
      c10::List<double> list;
      for (const T number : numbers) list.push_back(convert(IValue(number), kind).toDouble());
      return constant(IValue(list));
    }
    if (is_bool(kind)) {
      c10::List<bool> list;
      for (const T number : numbers) list.push_back(convert(IValue(number), kind).toBool());
      return constant(IValue(list));
    }
    // Scalar[], and Tensor?[] that is indexed with nothing.
    if (kind == TypeKind::NumberType) {
      c10::List<c10::Scalar> list;
      for (const T number : numbers) list.push_back(IValue(number).toScalar());
      return constant(IValue(list));
    }
    need(numbers.empty());
    return tensor_list({});
  }

  Operand symbolic(const auto& number) const {
    return std::visit(
        [&](const auto& held) -> Operand {
          if constexpr (!std::is_same_v<std::decay_t<decltype(held)>, schema::Name>) {
            return number_constant(IValue(held));
          } else {
            const Operand value = values_.use(held.value);
            if (wanted_.kind() == TypeKind::TensorType)
              return values_.list(Kind::kNumberTensor, {value});
            if (is_float(wanted_.kind())) return values_.list(Kind::kFloat, {value});
            if (!wanted_.is_list()) return value;
            need(wanted_.size.has_value());
            return number_list(
                std::vector<Operand>(static_cast<size_t>(std::max(*wanted_.size, 1)), value));
          }
        },
        number.value);
  }

  Operand symbolic_list(const auto& numbers) const {
    need(wanted_.is_list());
    std::vector<Operand> items;
    for (const auto& number : numbers)
      items.push_back(std::visit(
          [&](const auto& held) -> Operand {
            if constexpr (std::is_same_v<std::decay_t<decltype(held)>, schema::Name>)
              return values_.use(held.value);
            else return constant(convert(IValue(held), wanted_.element_kind()));
          },
          number.value));
    return number_list(std::move(items));
  }

  template <class T>
  Operand nested(const std::vector<std::vector<T>>& lists) const {
    need(wanted_.is_list() && wanted_.element_kind() == TypeKind::ListType);
    c10::impl::GenericList result(wanted_.element);
    for (const auto& list : lists) result.push_back(IValue(c10::List<T>(list)));
    return constant(IValue(result));
  }

  const c10::Argument& declared_;
  Wanted wanted_;
  c10::Device device_;
  Values& values_;
  const char* tag_;
};

}  // namespace

Slot Values::define(const std::string& name) {
  const Slot slot = code_.num_slots++;
  if (!known_.emplace(name, Operand{Kind::kSlot, slot}).second)
    throw Error(kInvalid, fmt::format("two values are named {}", quote(name)));
  return slot;
}

void Values::define_constant(const std::string& name, IValue value) {
  const Operand operand = constant(std::move(value));
  if (!known_.emplace(name, operand).second)
    throw Error(kInvalid, fmt::format("two values are named {}", quote(name)));
}

Operand Values::use(const std::string& name) const {
  const auto at = known_.find(name);
  if (at != known_.end()) return at->second;
  throw Error(kInvalid, fmt::format("there is no value {} before this place", quote(name)));
}

Operand Values::constant(IValue value) {
  code_.constants.push_back(std::move(value));
  return {Kind::kConstant, static_cast<int32_t>(code_.constants.size()) - 1};
}

Operand Values::list(Kind kind, std::vector<Operand> items) {
  bool constant_items = kind != Kind::kNumberTensor && kind != Kind::kFloat;
  for (const Operand& item : items) constant_items = constant_items && item.kind == Kind::kConstant;
  if (constant_items && kind == Kind::kInts) {
    c10::List<int64_t> list;
    for (const Operand& item : items)
      list.push_back(code_.constants[static_cast<size_t>(item.index)].toInt());
    return constant(IValue(list));
  }
  code_.lists.push_back(std::move(items));
  return {kind, static_cast<int32_t>(code_.lists.size()) - 1};
}

Operand operand_of(const schema::Argument& argument, const c10::Argument& declared,
                   c10::Device device, Values& values) {
  const Reader reader(declared, device, values, argument.tag());
  return std::visit([&](const auto& held) { return reader.read(held); }, argument.value);
}

namespace {

/// Values and numbers, without a declaration.
struct Plain {
  Values& values;
  const char* tag;

  using Operands = std::vector<Operand>;
  Operands operator()(const schema::None&) const { return {values.constant(IValue())}; }
  Operands operator()(int64_t number) const { return {values.constant(IValue(number))}; }
  Operands operator()(double number) const { return {values.constant(IValue(number))}; }
  Operands operator()(bool value) const { return {values.constant(IValue(value))}; }
  Operands operator()(const schema::TensorArgument& tensor) const {
    return {values.use(tensor.name)};
  }
  Operands operator()(const schema::OptionalTensorArgument& tensor) const {
    const auto* given = std::get_if<schema::TensorArgument>(&tensor.value);
    return {given != nullptr ? values.use(given->name) : values.constant(IValue())};
  }
  Operands operator()(const schema::SymIntArgument& number) const { return symbolic(number); }
  Operands operator()(const schema::SymFloatArgument& number) const { return symbolic(number); }
  Operands operator()(const schema::SymBoolArgument& number) const { return symbolic(number); }
  template <class T>
  requires requires(const Plain& plain, const T& item) { plain(item); }
  Operands operator()(const std::vector<T>& items) const {
    Operands all;
    for (const T& item : items)
      for (const Operand& operand : (*this)(item)) all.push_back(operand);
    return all;
  }
  Operands operator()(const std::string&) const { refuse(); }
  Operands operator()(const auto&) const { refuse(); }

 private:
  [[noreturn]] void refuse() const {
    throw Error(kUnsupported, fmt::format("an operand is {}, which the runner does not take", tag));
  }
  Operands symbolic(const auto& number) const {
    return std::visit(
        [&](const auto& held) -> Operands {
          if constexpr (std::is_same_v<std::decay_t<decltype(held)>, schema::Name>)
            return {values.use(held.value)};
          else return {values.constant(IValue(held))};
        },
        number.value);
  }
};

}  // namespace

std::vector<Operand> operands_of(const schema::Argument& argument, Values& values) {
  const Plain plain{values, argument.tag()};
  return std::visit([&](const auto& held) { return plain(held); }, argument.value);
}

}  // namespace slipway::dynamo_runner
