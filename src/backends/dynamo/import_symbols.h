// Names and bounds of an imported program's sizes.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "backends/dynamo/schema.h"
#include "ir/sym.h"

namespace slipway::dynamo {

/// A user input of the program: its leaf name and what the file says about it.
struct UserInput {
  std::string name;        ///< "past_key_values.layers.0.keys"
  std::string value_name;  ///< of the graph's value
  const schema::TensorMeta* meta = nullptr;
};

/// The symbols of a file under their new names.
class ImportSymbols {
 public:
  /// Throws Error{kInvalid} for bounds that contradict each other.
  ImportSymbols(const schema::ExportedProgram& program, const std::vector<UserInput>& inputs);

  /// Every symbol of a program is bound by an input; Error{kUnsupported} for one that is not
  /// (torch's u0, a size that depends on data).
  Sym operator()(const std::string& name) const;
  Sym size(const schema::SymInt& size) const;
  SymShape shape(const schema::TensorMeta& meta) const;

 private:
  std::map<std::string, Sym> symbols_;
};

}  // namespace slipway::dynamo
