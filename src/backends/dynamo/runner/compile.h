// Turns a serialized graph into code.
#pragma once

#include <map>
#include <set>
#include <string>
#include <string_view>

#include "backends/dynamo/runner/code.h"
#include "backends/dynamo/runner/values.h"

namespace slipway::dynamo_runner {

/// Resolves every op once and gives every value its place. `constants` are graph inputs that are
/// known now. Throws Error{kUnsupported} that lists all ops which this libtorch lacks or the runner
/// does not take, with their counts; Error{kInvalid} naming the node whose arguments do not fit.
Code compile(const dynamo::schema::Graph& graph, const Constants& constants, c10::Device device,
             std::string_view where);

/// The graph inputs, by name, that nodes may write to in place: themselves or through views.
std::set<std::string> written_inputs(const dynamo::schema::Graph& graph);

}  // namespace slipway::dynamo_runner
