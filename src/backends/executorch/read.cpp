// Reads the frame of a .pte file: header, segments, named data, metadata.
#include "backends/executorch/read.h"

#include <numeric>
#include <set>

#include "backends/executorch/read_parts.h"
#include "backends/executorch/write.h"
#include "base/json.h"
#include "base/mapped_file.h"
#include "base/output.h"

namespace slipway::executorch {
namespace {

using namespace reading;

constexpr size_t kIdentifierAt = 4, kHeaderAt = 8;
constexpr uint32_t kLeastHeader = 24, kHeaderWithSize = 32;

template <class T>
T little_endian(ByteSpan bytes, size_t at) {
  T value = 0;
  for (size_t i = 0; i < sizeof(T); ++i)
    value |= static_cast<T>(std::to_integer<uint8_t>(bytes[at + i])) << (8 * i);
  return value;
}

std::string_view text_of(ByteSpan bytes) {
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

[[noreturn]] void fail(const std::string& where, const std::string& what) {
  throw Error(kInvalid, fmt::format("[executorch] {}: {}", where, what));
}

void check_identifier(ByteSpan bytes, const std::string& where) {
  if (bytes.size() < kHeaderAt + sizeof(uint32_t))
    fail(where,
         fmt::format("{} bytes are no .pte file; it is cut, or something else", bytes.size()));
  const std::string_view id = text_of(bytes).substr(kIdentifierAt, 4);
  if (id == "ET12") return;
  const auto digit = [](char c) { return c >= '0' && c <= '9'; };
  if (id.starts_with("ET") && digit(id[2]) && digit(id[3]))
    throw Error(kUnsupported, fmt::format("[executorch] {} has the schema version {}, need ET12; "
                                          "export it with ExecuTorch 1.5, or update Slipway",
                                          where, id));
  fail(where, fmt::format("got the identifier {}, need ET12; it is no .pte file", quote(id)));
}

struct Frame {
  ByteSpan program, segments;
};

/// Splits a file by its extended header; one without has no segments.
Frame split(ByteSpan bytes, const std::string& where) {
  check_identifier(bytes, where);
  if (text_of(bytes).substr(kHeaderAt, 4) != "eh00") return {bytes, {}};
  if (bytes.size() < kHeaderAt + kHeaderWithSize) fail(where, "the file is cut in its header");
  const auto length = little_endian<uint32_t>(bytes, kHeaderAt + 4);
  const auto program = little_endian<uint64_t>(bytes, kHeaderAt + 8);
  const auto base = little_endian<uint64_t>(bytes, kHeaderAt + 16);
  const uint64_t data =
      length >= kHeaderWithSize ? little_endian<uint64_t>(bytes, kHeaderAt + 24) : 0;
  if (length < kLeastHeader) fail(where, fmt::format("the header states {} bytes", length));
  const uint64_t size = bytes.size();
  if (program > size || base > size || data > size - base)
    fail(where, fmt::format("{} bytes are there, the header states a program of {} and segments "
                            "of {} at {}; the file is cut, copy it again",
                            size, program, data, base));
  if (base != 0 && base < program) fail(where, "segments begin inside the program");
  return {bytes.first(static_cast<size_t>(program)),
          base == 0 ? ByteSpan() : bytes.subspan(static_cast<size_t>(base))};
}

const fb::Program& verified(ByteSpan bytes, const std::string& where) {
  if (bytes.size() >= FLATBUFFERS_MAX_BUFFER_SIZE) fail(where, "the program is beyond 2 GiB");
  flatbuffers::Verifier::Options options;
  // A table takes 4 bytes; offsets to one table from many places are what the limit is for.
  options.max_tables = static_cast<uint32_t>(std::min<size_t>(bytes.size() / 4 + 16, 1u << 26));
  flatbuffers::Verifier verifier(reinterpret_cast<const uint8_t*>(bytes.data()), bytes.size(),
                                 options);
  if (!fb::VerifyProgramBuffer(verifier))
    fail(where, "the program's offsets point outside it; the file is broken, export it again");
  const fb::Program& program = *fb::GetProgram(bytes.data());
  if (program.version() != 0)
    throw Error(kUnsupported, fmt::format("[executorch] {} has the program version {}, need 0; "
                                          "export it with ExecuTorch 1.5, or update Slipway",
                                          where, program.version()));
  return program;
}

void check_subsegments(const File& file, const fb::SubsegmentOffsets* list) {
  if (!list || !list->offsets() || list->offsets()->size() == 0) return;
  file.need_aligned(list->offsets());
  const ByteSpan segment = file.segment(list->segment_index());
  for (const uint64_t offset : *list->offsets())
    file.need(offset <= segment.size(), "data lie outside their segment");
}

void check_tables(const File& file) {
  const fb::Program& program = file.program;
  const auto* segments = program.segments();
  const size_t count = segments ? segments->size() : 0;
  for (size_t i = 0; i < count; ++i) file.segment(i);
  check_subsegments(file, program.constant_segment());
  if (const auto* lists = program.mutable_data_segments())
    for (const auto* list : *lists) check_subsegments(file, list);
  std::set<std::string_view> keys;
  if (const auto* named = program.named_data())
    for (const auto* entry : *named) {
      file.need(entry && entry->key(), "named data have no key");
      file.segment(entry->segment_index());
      file.need(keys.insert(entry->key()->string_view()).second,
                fmt::format("two data are named {}", quote(entry->key()->string_view())));
    }
}

/// Names and symbolic sizes that our writer stored. `metadata` is as hostile as the rest.
class Metadata {
 public:
  Metadata(const File& file, ByteSpan bytes)
      : file_(file), json_(parse_json(text_of(bytes), file.where)) {
    file_.need(json_.is_object(), "its metadata are no object");
  }

  void apply(Outline& outline) const {
    outline.producer = text(json_, "producer");
    const Json& methods = object(json_, "methods");
    for (MethodOutline& method : outline.methods) {
      apply_facts(json_, method);
      if (!methods.contains(method.name)) continue;
      const Json& entry = methods[method.name];
      file_.need(entry.is_object(), "its metadata of a method are no object");
      method.named = true;
      apply_facts(entry, method);
      apply(entry, "inputs", method.inputs);
      apply(entry, "outputs", method.outputs);
    }
  }

 private:
  std::string text(const Json& from, const char* key) const {
    if (!from.contains(key)) return {};
    file_.need(from[key].is_string(), fmt::format("its metadata have no text {}", key));
    return from[key].get<std::string>();
  }
  const Json& object(const Json& from, const char* key) const {
    file_.need(from.contains(key) && from[key].is_object(),
               fmt::format("its metadata have no object {}", key));
    return from[key];
  }

  /// What all methods have, or one has of its own.
  void apply_facts(const Json& from, MethodOutline& method) const {
    if (from.contains("dims")) method.dims = object(from, "dims").dump();
    if (from.contains("ranges")) method.ranges = object(from, "ranges").dump();
    if (!from.contains("metadata")) return;
    for (const auto& [key, value] : object(from, "metadata").items()) {
      file_.need(value.is_string(), "its metadata have an entry that is no text");
      method.metadata[key] = value.get<std::string>();
    }
  }

  void apply(const Json& method, const char* key, std::vector<Port>& ports) const {
    file_.need(method.contains(key) && method[key].is_array() && method[key].size() == ports.size(),
               fmt::format("its metadata do not name all {}", key));
    std::set<std::string> names;
    for (size_t i = 0; i < ports.size(); ++i) {
      const Json& leaf = method[key][i];
      file_.need(leaf.is_object(), "its metadata have a leaf that is no object");
      ports[i].name = text(leaf, "name");
      file_.need(!ports[i].name.empty() && names.insert(ports[i].name).second,
                 fmt::format("its metadata name two {} {}", key, quote(ports[i].name)));
      if (ports[i].kind != PortKind::kTensor || !leaf.contains("shape")) continue;
      const Json& shape = leaf["shape"];
      file_.need(shape.is_array() && shape.size() == ports[i].sizes.size(),
                 fmt::format("its metadata have another rank for {}", quote(ports[i].name)));
      for (size_t d = 0; d < ports[i].dims.size(); ++d) {
        file_.need(shape[d].is_string(), "its metadata have a size that is no text");
        if (ports[i].dynamic) ports[i].dims[d] = shape[d].get<std::string>();
      }
    }
  }

  const File& file_;
  Json json_;
};

}  // namespace

namespace reading {

ByteSpan File::segment(uint64_t index) const {
  const auto* segments = program.segments();
  need(segments && index < segments->size(), fmt::format("there is no segment {}", index));
  const auto* entry = segments->Get(static_cast<uint32_t>(index));
  need(entry && entry->offset() <= segment_data.size() &&
           entry->size() <= segment_data.size() - entry->offset(),
       fmt::format("segment {} lies outside the file", index));
  return segment_data.subspan(static_cast<size_t>(entry->offset()),
                              static_cast<size_t>(entry->size()));
}

void File::check_data(const fb::SubsegmentOffsets* list, uint64_t index, uint64_t bytes) const {
  need(list && list->offsets() && index < list->offsets()->size(),
       fmt::format("there are no data of number {}", index));
  const ByteSpan all = segment(list->segment_index());
  const uint64_t offset = list->offsets()->Get(static_cast<uint32_t>(index));
  need(offset <= all.size() && bytes <= all.size() - offset,
       fmt::format("data of number {} lie outside their segment", index));
}

ByteSpan File::named(std::string_view key) const {
  if (const auto* entries = program.named_data())
    for (const auto* entry : *entries)
      if (entry->key()->string_view() == key) return segment(entry->segment_index());
  fail(fmt::format("there are no data named {}", quote(key)));
}

}  // namespace reading

int64_t MethodOutline::arena_total() const {
  return std::accumulate(arena_bytes.begin(), arena_bytes.end(), int64_t{0});
}

const MethodOutline* Outline::find(const std::string& name) const {
  for (const MethodOutline& method : methods)
    if (method.name == name) return &method;
  return nullptr;
}

const MethodOutline& Outline::method(const std::string& name, const std::string& where) const {
  if (const MethodOutline* found = find(name)) return *found;
  std::string names;
  for (const MethodOutline& method : methods) names += (names.empty() ? "" : ", ") + method.name;
  throw Error(kInvalid,
              fmt::format("[executorch] {} has no method {}, it has {}", where, name, names));
}

Outline read_outline(ByteSpan bytes, const std::string& where) {
  const Frame frame = split(bytes, where);
  const File file{where, verified(frame.program, where), frame.segments};
  check_tables(file);
  Outline outline;
  outline.file_bytes = static_cast<int64_t>(bytes.size());
  outline.program_bytes = static_cast<int64_t>(frame.program.size());
  if (const auto* segments = file.program.segments()) outline.segments = segments->size();
  if (const auto* named = file.program.named_data()) outline.named_data = named->size();
  const auto* plans = file.program.execution_plan();
  file.need(plans && plans->size() > 0, "it has no method");
  std::set<std::string> names;
  for (const auto* plan : *plans) {
    file.need(plan != nullptr, "a method is missing");
    MethodOutline method = read_method(file, *plan);
    file.need(names.insert(method.name).second,
              fmt::format("two methods are named {}", quote(method.name)));
    name_ports(*plan, method);
    outline.methods.push_back(std::move(method));
  }
  if (const auto* named = file.program.named_data())
    for (const auto* entry : *named)
      if (entry->key()->string_view() == kMetadataKey)
        Metadata(file, file.segment(entry->segment_index())).apply(outline);
  return outline;
}

Outline read_outline(const std::filesystem::path& path) {
  const auto file = MappedFile::open(path);
  return read_outline(file->bytes(), display(path));
}

FileSummary read_summary(const std::filesystem::path& path, const std::string& name) {
  const Outline outline = read_outline(path);
  const MethodOutline* main =
      name.empty() ? outline.find("forward") : &outline.method(name, display(path));
  for (const MethodOutline& method : outline.methods)
    if (!main && !method.is_metadata()) main = &method;
  if (!main) main = &outline.methods.front();
  FileSummary summary;
  summary.ir_version = 12;
  summary.producer = outline.producer.empty() ? "ExecuTorch" : outline.producer;
  const auto values = [](const std::vector<Port>& ports) {
    std::vector<FileValue> list;
    for (const Port& port : ports)
      if (port.kind == PortKind::kTensor) list.push_back({port.name, port.dtype, port.dims, false});
    return list;
  };
  summary.inputs = values(main->inputs);
  summary.outputs = values(main->outputs);
  summary.metadata = main->metadata;
  for (const MethodOutline& method : outline.methods) {
    if (method.is_metadata()) {
      std::string text;
      for (const Port& port : method.outputs) text += (text.empty() ? "" : ", ") + port.constant;
      summary.metadata[method.name] = text;
      continue;
    }
    if (!name.empty() && &method != main) continue;
    summary.initializers += method.constants;
    for (const auto& [op, count] : method.op_counts) summary.op_counts[op] += count;
    for (const DelegatePort& delegate : method.delegates)
      for (const auto& [node, count] : delegate.node_counts)
        summary.op_counts["xnn::" + node] += count;
    summary.listing += fmt::format("method {}: arena of {} bytes\n{}", method.name,
                                   method.arena_total(), method.listing);
  }
  return summary;
}

}  // namespace slipway::executorch
