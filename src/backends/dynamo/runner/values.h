// The named values of a graph while it is turned into code.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "backends/dynamo/runner/code.h"
#include "backends/dynamo/schema.h"

namespace slipway::dynamo_runner {

/// Values that are known at load, by the name of the graph input that stands for them.
using Constants = std::map<std::string, c10::IValue>;

/// Gives each value of a graph a slot or a constant.
class Values {
 public:
  explicit Values(Code& code) : code_(code) {}

  /// Throws Error{kInvalid} when the name is taken.
  Slot define(const std::string& name);
  void define_constant(const std::string& name, c10::IValue value);

  /// Throws Error{kInvalid} for a name that is not defined yet.
  Operand use(const std::string& name) const;
  Operand constant(c10::IValue value);
  Operand list(Operand::Kind kind, std::vector<Operand> items);

 private:
  Code& code_;
  std::map<std::string, Operand, std::less<>> known_;
};

/// The operand of a declared argument of an op. Devices are replaced by `device`: a graph runs
/// where its session is, not where it was traced. Throws Error{kInvalid} naming both types where
/// they do not fit, Error{kUnsupported} for graphs, operators and custom objects.
Operand operand_of(const dynamo::schema::Argument& argument, const c10::Argument& declared,
                   c10::Device device, Values& values);

/// The operand of an argument that nothing declares (of arithmetic and higher-order ops): values
/// and plain numbers.
std::vector<Operand> operands_of(const dynamo::schema::Argument& argument, Values& values);

}  // namespace slipway::dynamo_runner
