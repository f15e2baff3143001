// Checks of the nodes of an XNNPACK delegate's graph. Only the reader includes this.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "xnnpack/schema_generated.h"

namespace slipway::executorch::reading {

/// A value of a graph, whose dims and data are checked before.
struct XnnValue {
  const fb_xnnpack::XNNTensorValue* tensor = nullptr;
  bool input = false, output = false;  ///< of the delegate
  bool data = false;                   ///< it is in the file

  uint32_t rank() const { return tensor->dims() ? tensor->dims()->size() : 0; }
  uint32_t dim(uint32_t i) const { return tensor->dims()->Get(i); }
  uint32_t last() const { return rank() == 0 ? 1 : dim(rank() - 1); }
  uint64_t elements() const;
};

/// By the numbers that nodes name them with.
using XnnValues = std::map<uint32_t, XnnValue>;

constexpr uint32_t kXnnTransposes = 1;  ///< XNN_FLAG_TRANSPOSE_WEIGHTS

/// A node as the table of its kind, or as one of the same fields.
template <class T>
const T& as(const fb_xnnpack::XNode& node) {
  return *static_cast<const T*>(node.xnode_union());
}

/// The values that a node names.
struct XnnPorts {
  std::vector<uint32_t> inputs{}, outputs{};
  uint32_t flags = 0;
  uint32_t allowed_flags = 0;  ///< XNN_FLAG_* that exporters set: others change what data mean
  bool bias = false;           ///< the last input may be absent
};

/// Of a node of a kind that the schema has.
XnnPorts ports_of(const fb_xnnpack::XNode& node);

/// Checks that nodes read what is there by then, write every value once, and have attributes that
/// fit their values: XNNPACK checks some of this, and crashes on the rest. Throws Error{kInvalid}
/// naming the node; `where` is the delegate's place.
void check_nodes(const fb_xnnpack::XNNGraph& graph, const XnnValues& values,
                 const std::string& where);

}  // namespace slipway::executorch::reading
