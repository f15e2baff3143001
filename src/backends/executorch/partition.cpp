// Which parts of a lowered graph XNNPACK computes.
#include "backends/executorch/partition.h"

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <set>

#include "backends/executorch/xnnpack_lower.h"

namespace slipway::executorch {
namespace {

/// Nodes as units that run as a whole: single ones and parts that grow. A graph of units has no
/// cycle, or it could not run.
class Units {
 public:
  explicit Units(const Graph& graph) : order_(graph.order()) {
    for (size_t i = 0; i < order_.size(); ++i) index_[order_[i]] = i;
    for (size_t i = 0; i < order_.size(); ++i) {
      unit_.push_back(i);
      units_.push_back({{i}, i, i});
    }
  }

  const std::vector<Node*>& order() const { return order_; }
  size_t unit_of(size_t node) const { return unit_[node]; }
  size_t unit_of(const Node* node) const { return unit_[index_.at(node)]; }
  const std::vector<size_t>& members(size_t unit) const { return units_[unit].nodes; }

  /// Puts two units together unless something outside would have to run between them.
  bool merge(size_t a, size_t b) {
    if (a == b || depends_by_others(a, b) || depends_by_others(b, a)) return false;
    Unit& into = units_[a];
    Unit& from = units_[b];
    for (const size_t node : from.nodes) unit_[node] = a;
    into.nodes.insert(into.nodes.end(), from.nodes.begin(), from.nodes.end());
    std::sort(into.nodes.begin(), into.nodes.end());
    into.first = std::min(into.first, from.first);
    into.last = std::max(into.last, from.last);
    from.nodes.clear();
    return true;
  }

  /// Takes a node out of its unit again: it stands alone.
  void release(size_t node) {
    std::erase(units_[unit_[node]].nodes, node);
    unit_[node] = units_.size();
    units_.push_back({{node}, node, node});
  }

 private:
  struct Unit {
    std::vector<size_t> nodes;  ///< places in the order, ascending
    size_t first, last;
  };

  /// True where `a` needs, through at least one unit other than both, what `b` gives.
  bool depends_by_others(size_t a, size_t b) const {
    std::set<size_t> seen = {a};
    std::vector<size_t> open;
    const auto follow = [&](size_t unit, bool direct) {
      for (const size_t node : units_[unit].nodes)
        for (const Value value : operands(*order_[node])) {
          const size_t next = unit_of(value.node());
          if (next == b && !direct) return true;
          if (next == b || units_[next].last < units_[b].first) continue;
          if (seen.insert(next).second) open.push_back(next);
        }
      return false;
    };
    follow(a, true);
    while (!open.empty()) {
      const size_t unit = open.back();
      open.pop_back();
      if (follow(unit, false)) return true;
    }
    return false;
  }

  std::vector<Node*> order_;
  std::map<const Node*, size_t> index_;
  std::vector<size_t> unit_;
  std::vector<Unit> units_;
};

using Reasons = std::map<const Node*, std::string>;

/// Why nodes are not taken; those that are taken have "".
Reasons dry_run(const Graph& graph) {
  Reasons reasons;
  for (const Node* node : graph.order())
    if (node->kind == NodeKind::kOp) reasons[node] = refused_by_xnnpack(*node);
  return reasons;
}

bool taken(const Reasons& reasons, const Node* node) {
  const auto at = reasons.find(node);
  return at != reasons.end() && at->second.empty();
}

/// Joins each node with the parts that it reads, the latest first, and else with the last part: so
/// products of one input are one part.
void grow(Units& units, const Reasons& reasons) {
  std::optional<size_t> last;
  for (size_t i = 0; i < units.order().size(); ++i) {
    const Node* node = units.order()[i];
    if (!taken(reasons, node)) continue;
    std::set<size_t, std::greater<>> read;
    for (const Value value : operands(*node))
      if (taken(reasons, value.node())) read.insert(units.unit_of(value.node()));
    for (const size_t unit : read) units.merge(unit, units.unit_of(i));
    if (last && units.unit_of(*last) != units.unit_of(i))
      units.merge(units.unit_of(*last), units.unit_of(i));
    last = i;
  }
}

/// Reshapes at the rim of a part cost nothing outside, where they are views.
void trim(Units& units, const Graph& graph, const Reasons& reasons) {
  std::map<const Node*, std::vector<const Node*>> readers;
  for (const Node* node : units.order())
    for (const Value value : operands(*node)) readers[value.node()].push_back(node);
  for (const Output& output : graph.outputs()) readers[output.value.node()].push_back(nullptr);
  for (bool changed = true; changed;) {
    changed = false;
    for (size_t i = 0; i < units.order().size(); ++i) {
      const Node* node = units.order()[i];
      if (!taken(reasons, node) || node->op->name() != "et::view_copy.out") continue;
      const size_t unit = units.unit_of(i);
      if (units.members(unit).size() == 1) continue;
      const bool read_inside = std::ranges::any_of(readers[node], [&](const Node* reader) {
        return reader != nullptr && units.unit_of(reader) == unit;
      });
      const bool made_inside = units.unit_of(operands(*node)[0].node()) == unit;
      if (read_inside && made_inside) continue;
      units.release(i);
      changed = true;
    }
  }
}

/// A part is worth a call where it computes.
bool computes(const std::vector<Node*>& nodes) {
  return std::ranges::any_of(nodes, [](const Node* node) { return !moves_only(*node); });
}

/// Builds the delegate of a part, whose values `outside` nodes and outputs read.
void build(Partition& part, const std::set<Value>& read_outside, EqualWeights& shared) {
  XnnpackBuilder builder(shared);
  for (const Node* node : part.nodes) {
    const std::string reason = builder.define(*node);
    SLIPWAY_ASSERT(reason.empty());
  }
  part.inputs = builder.inputs();
  for (Node* node : part.nodes)
    if (read_outside.contains(node->out())) {
      part.outputs.push_back(node->out());
      builder.add_output(node->out());
    }
  part.delegate.graph = builder.take();
}

std::set<Value> read_by_others(const Graph& graph, const std::map<const Node*, size_t>& part_of) {
  std::set<Value> read;
  const auto part = [&](const Node* node) {
    const auto at = part_of.find(node);
    return at == part_of.end() ? std::numeric_limits<size_t>::max() : at->second;
  };
  for (const Node* node : graph.order())
    for (const Value value : operands(*node))
      if (part(node) != part(value.node())) read.insert(value);
  for (const Output& output : graph.outputs()) read.insert(output.value);
  return read;
}

void fill(Delegation& report, const Graph& graph, const std::vector<Partition>& parts,
          const Reasons& reasons) {
  std::set<const Node*> inside;
  for (const Partition& part : parts) inside.insert(part.nodes.begin(), part.nodes.end());
  report.delegates = static_cast<int64_t>(parts.size());
  for (const Node* node : graph.order()) {
    if (node->kind != NodeKind::kOp) continue;
    const int64_t count = multiplications(*node);
    report.multiplications += count;
    const std::string& op = node->op->name();
    if (inside.contains(node)) {
      ++report.delegated[op];
      report.delegated_multiplications += count;
      continue;
    }
    const auto at = reasons.find(node);  // what expand_own_ops() made has none
    if (at != reasons.end())
      ++report.left[{op, at->second.empty() ? "nothing around it computes" : at->second}];
  }
}

}  // namespace

std::vector<Partition> partition(Graph& graph, Delegation* report) {
  const Reasons reasons = dry_run(graph);
  Units units(graph);
  grow(units, reasons);
  trim(units, graph, reasons);
  std::map<size_t, Partition> by_unit;
  for (size_t i = 0; i < units.order().size(); ++i)
    if (taken(reasons, units.order()[i]))
      by_unit[units.unit_of(i)].nodes.push_back(units.order()[i]);
  std::vector<Partition> parts;
  std::map<const Node*, size_t> part_of;
  for (auto& [unit, part] : by_unit) {
    if (!computes(part.nodes)) continue;
    for (const Node* node : part.nodes) part_of[node] = parts.size();
    parts.push_back(std::move(part));
  }
  if (report != nullptr)
    for (const auto& [node, reason] : reasons)
      if (node->op->name() == "et::matmul" && !reason.empty())
        ++report->left[{node->op->name(), reason}];
  expand_own_ops(graph, parts);
  const std::set<Value> read = read_by_others(graph, part_of);
  EqualWeights shared;
  for (Partition& part : parts) build(part, read, shared);
  if (report != nullptr) fill(*report, graph, parts, reasons);
  return parts;
}

}  // namespace slipway::executorch
