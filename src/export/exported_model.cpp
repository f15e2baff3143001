// Loading and running exports.
#include "slipway/exported_model.h"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <unistd.h>

#include <cstdlib>

#include "backends/dynamo/read.h"
#include "backends/executorch/read.h"
#include "backends/onnx/read.h"
#include "backends/openvino/read.h"
#include "base/json.h"
#include "base/log.h"
#include "base/mapped_file.h"
#include "base/output.h"
#include "checkpoint/companions.h"
#include "export/impl.h"
#include "export/layout.h"
#include "runtime/plugin.h"
#include "slipway/configs.h"

namespace slipway {
namespace {

namespace fs = std::filesystem;

/// Nothing where config.json does not say it.
std::optional<CacheHeads> cache_heads_of(const Config& text) {
  try {
    const int64_t size = text.head_dim();
    CacheHeads cache{text.num_key_value_heads(), size, size};
    // Latent attention: keys have a part that turns and one that does not.
    if (const int64_t turning = text.get_int_or("qk_rope_head_dim", 0); turning > 0) {
      cache.key_size = turning + text.get_int("qk_nope_head_dim", 1);
      cache.value_size = text.get_int("v_head_dim", 1);
    }
    return cache;
  } catch (const Error&) {
    return std::nullopt;
  }
}

/// What config.json says about ids and caches, for graphs that do not say it themselves.
RunnerLimits limits_of(const std::string& config) {
  RunnerLimits limits;
  if (config.empty()) return limits;
  const Config parsed = Config::from_json(parse_json(config, "config.json"), "config.json");
  if (parsed.has("vocab_size"))
    limits.values["input_ids"] = {0, parsed.get_int("vocab_size", 1) - 1};
  limits.cache_heads = cache_heads_of(parsed.text());
  // Models without segments say 0 (deberta-v2).
  if (const int64_t types = parsed.get_int_or("type_vocab_size", 0); types > 0)
    limits.values["token_type_ids"] = {0, types - 1};
  return limits;
}

SessionOptions session_options(const RunnerOptions& options) {
  SessionOptions session;
  session.device = options.device;
  session.providers = options.providers;
  session.intra_op_threads = options.intra_op_threads;
  for (const auto& [key, value] : options.session_options) session.config[key] = value;
  return session;
}

/// The same for a component. A .pte file may have a method for each, and has no names of inputs and
/// outputs when others wrote it.
SessionOptions session_options(const RunnerOptions& options, const std::string& format,
                               const std::string& component, const ExportMetadata& metadata) {
  SessionOptions session = session_options(options);
  if (format != "executorch") return session;
  session.config.try_emplace("component", component);
  if (metadata.in_spec) session.config.try_emplace("in_spec", *metadata.in_spec);
  if (metadata.out_spec) session.config.try_emplace("out_spec", *metadata.out_spec);
  return session;
}

/// The runtimes that the tests run with; another minor version gets a warning.
void warn_of_drift(const std::string& runtime) {
  constexpr std::string_view kTested[] = {"ONNX Runtime 1.32", "libtorch 2.10", "OpenVINO 2026.4",
                                          "ExecuTorch 1.5"};
  for (const std::string_view tested : kTested) {
    const std::string_view name = tested.substr(0, tested.rfind(' '));
    if (runtime.starts_with(name) && !runtime.starts_with(tested))
      log::warning_once(
          fmt::format("{} is installed, Slipway is tested with {}; if results look wrong, "
                      "use the tested version",
                      runtime, tested));
  }
}

void warn_of_newer(const ExportMetadata& metadata) {
  for (const auto& [package, version] : metadata.packages) {
    int theirs[3] = {}, ours[3] = {};
    if (package != "slipway" ||
        std::sscanf(version.c_str(), "%d.%d.%d", &theirs[0], &theirs[1], &theirs[2]) < 2)
      continue;
    std::sscanf(SLIPWAY_VERSION, "%d.%d.%d", &ours[0], &ours[1], &ours[2]);
    if (std::lexicographical_compare(ours, ours + 3, theirs, theirs + 3))
      log::warning_once(fmt::format("this export was made by slipway {}, newer than this {}",
                                    version, SLIPWAY_VERSION));
  }
}

std::string read_text(const fs::path& path) {
  const auto file = MappedFile::open(path);
  return {reinterpret_cast<const char*>(file->bytes().data()), file->bytes().size()};
}

/// Every file that the component needs; a weight file that stayed behind is named.
void check_files(const fs::path& file, const FileSummary& summary) {
  for (const std::string& companion : summary.external_files) {
    const fs::path weights = file.parent_path() / companion;
    if (!fs::exists(weights))
      throw Error(kInvalid,
                  fmt::format("[export] {} needs its weights in {}, which is missing; move the "
                              "whole folder, not one file",
                              display(file), companion));
    // A pipe would never end, a device has no size.
    if (!fs::is_regular_file(weights))
      throw Error(kInvalid, fmt::format("[export] {} needs its weights in {}, which is not a "
                                        "regular file",
                                        display(file), companion));
  }
}

}  // namespace

FileSummary outline_of(const std::string& format, const fs::path& file, const std::string& method) {
  if (format == "onnx") return onnx::read_summary(file);
  if (format == "dynamo") return dynamo::read_summary(file);
  if (format == "openvino") return openvino::read_summary(file);
  if (format == "executorch") return executorch::read_summary(file, method);
  throw Error(kUnsupported,
              fmt::format("[export] {} is of an export of format '{}', which this build does not "
                          "run; it runs {}",
                          display(file), format, fmt::join(available_formats(), ", ")));
}

FileSummary summary_of(const std::string& format, const fs::path& file, const std::string& method) {
  FileSummary summary = outline_of(format, file, method);
  check_files(file, summary);
  return summary;
}

TemporaryDirectory::TemporaryDirectory() {
  std::string name = (fs::temp_directory_path() / "slipway-XXXXXX").string();
  if (::mkdtemp(name.data()) == nullptr)
    throw Error(kEnvironment,
                "[export] cannot make a temporary directory; set TMPDIR to a writable folder");
  path_ = name;
}

TemporaryDirectory::~TemporaryDirectory() {
  std::error_code ignored;
  fs::remove_all(path_, ignored);
}

ExportedModel::ExportedModel(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
ExportedModel::ExportedModel(ExportedModel&&) noexcept = default;
ExportedModel& ExportedModel::operator=(ExportedModel&&) noexcept = default;
ExportedModel::~ExportedModel() = default;

ExportedModel ExportedModel::from_pretrained(const fs::path& directory,
                                             const std::string& subfolder,
                                             const RunnerOptions& options) {
  const fs::path folder = subfolder.empty() ? directory : directory / subfolder;
  const ExportListing listing = list_export(folder);
  const Manifest& manifest = listing.manifest;
  auto impl = std::make_unique<Impl>();
  impl->format = manifest.export_format;
  impl->layout = listing.layout;
  impl->directory = fs::absolute(folder);
  if (fs::exists(folder / "config.json")) impl->config = read_text(folder / "config.json");
  for (const ManifestComponent& component : manifest.components) {
    auto program = std::make_shared<Program::Impl>();
    program->file = summary_of(manifest.export_format, folder / component.file, component.method);
    program->file_place = {component.file, component.method};
    warn_of_newer(component.metadata);
    impl->components.emplace_back(
        component.name, ExportedComponent{Program(std::move(program)), component.metadata});
  }
  impl->companions = find_companions(impl->directory);
  ExportedModel model(std::move(impl));
  model.to(options);
  return model;
}

const std::string& ExportedModel::export_format() const { return impl_->format; }
const std::vector<std::pair<std::string, ExportedComponent>>& ExportedModel::components() const {
  return impl_->components;
}
const std::string& ExportedModel::config() const { return impl_->config; }
const fs::path& ExportedModel::directory() const { return impl_->directory; }

fs::path ExportedModel::file_of(const std::string& name) const {
  const Program::Impl& program = component(name).program.impl();
  return program.file ? impl_->directory / program.file_place.file : fs::path();
}

const ExportedComponent& ExportedModel::component(const std::string& name) const {
  std::string names;
  for (const auto& [key, component] : impl_->components) {
    if (key == name) return component;
    names += (names.empty() ? "" : ", ") + key;
  }
  throw Error(kUsage,
              fmt::format("[export] there is no component '{}'; there are {}", name, names));
}

const Program& ExportedModel::program() const {
  if (impl_->components.size() != 1)
    throw Error(kUsage,
                fmt::format("[export] program() needs one component, this export has {}; use "
                            "component(name)",
                            impl_->components.size()));
  return impl_->components[0].second.program;
}

ExportedModel& ExportedModel::to(const RunnerOptions& options) {
  fs::path folder = impl_->directory;
  if (folder.empty()) {
    if (!impl_->temporary) {
      impl_->temporary = std::make_shared<TemporaryDirectory>();
      save_pretrained(impl_->temporary->path() / "export");
    }
    folder = impl_->temporary->path() / "export";
  }
  Plugin::load(impl_->format);  // a missing runtime is known at once
  const RunnerLimits limits = limits_of(impl_->config);
  std::vector<std::pair<std::string, Runner>> loaded;
  for (const auto& [name, component] : impl_->components) {
    const ProgramPlace place = component.program.impl().place(name);
    SessionOptions session_config =
        session_options(options, impl_->format, name, component.metadata);
    if (!place.method.empty()) session_config.config.try_emplace("method", place.method);
    const auto open = [format = impl_->format, path = folder / place.file, session_config, limits,
                       keep = impl_->temporary] {
      Session session = Session::open(format, path, session_config);
      warn_of_drift(session.runtime());
      return ModelRunner(std::move(session), limits);
    };
    loaded.emplace_back(name, Runner(std::make_shared<Runner::Impl>(open)));
  }
  if (loaded.size() == 1) loaded[0].second.impl().runner();
  impl_->runners = std::move(loaded);
  return *this;
}

const std::vector<std::pair<std::string, Runner>>& ExportedModel::runners() const {
  const std::lock_guard lock(impl_->mutex);
  if (impl_->runners.empty()) const_cast<ExportedModel*>(this)->to(RunnerOptions{});
  return impl_->runners;
}

const Runner& ExportedModel::runner(const std::string& name) const {
  component(name);
  for (const auto& [key, runner] : runners())
    if (key == name) return runner;
  throw Error(kInternal, "[export] a component has no runner");
}

Outputs ExportedModel::operator()(const Inputs& inputs) const {
  program();  // refuses several components
  return runners()[0].second(inputs);
}

Outputs Runner::operator()(const Inputs& inputs, const std::vector<std::string>& wanted) const {
  return impl_->runner().run(inputs, wanted);
}

}  // namespace slipway
