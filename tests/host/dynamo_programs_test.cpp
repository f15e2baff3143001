// Small programs of torch.export in the libtorch plug-in: kinds of arguments, sizes, state, faults.
#include <functional>
#include <optional>
#include <thread>

#include "backends/dynamo/archive.h"
#include "backends/dynamo/archive_writer.h"
#include "golden_util.h"
#include "runtime/session.h"

namespace slipway::golden {
namespace {

namespace fs = std::filesystem;

fs::path programs() { return fs::path(SLIPWAY_SOURCE_DIR) / "tests/golden/pt2/programs"; }

Session open(const std::string& name) {
  return Session::open("dynamo", programs() / (name + ".pt2"));
}

/// "in.0.x" and "out.0.output" of the calls that the generator made.
class Calls {
 public:
  explicit Calls(const std::string& name)
      : tensors_(read_safetensors(programs() / (name + ".safetensors"))) {}

  std::map<std::string, Tensor> part(const std::string& kind, int64_t call) const {
    const std::string prefix = kind + "." + std::to_string(call) + ".";
    std::map<std::string, Tensor> found;
    for (const auto& [name, tensor] : tensors_)
      if (name.starts_with(prefix)) found[name.substr(prefix.size())] = tensor;
    return found;
  }

 private:
  Inputs tensors_;
};

/// The program's inputs under its own names: "keys" may be "input.keys".
std::map<std::string, Tensor> named(const Session& session, std::map<std::string, Tensor> leaves) {
  std::map<std::string, Tensor> inputs;
  for (const IoSpec& spec : session.inputs()) {
    const bool prefixed = spec.name.starts_with("input.");
    inputs[spec.name] = leaves.at(prefixed ? spec.name.substr(6) : spec.name).clone();
  }
  return inputs;
}

void expect_close(const Tensor& got, const Tensor& want, const std::string& name) {
  ASSERT_EQ(got.shape(), want.shape()) << name;
  ASSERT_EQ(got.dtype(), want.dtype()) << name;
  if (got.dtype() != DType::kF32) {
    EXPECT_EQ(std::memcmp(got.data(), want.data(), static_cast<size_t>(got.nbytes())), 0) << name;
    return;
  }
  for (size_t i = 0; i < got.values<float>().size(); ++i) {
    const float a = got.values<float>()[i], b = want.values<float>()[i];
    EXPECT_TRUE(a == b || std::abs(a - b) <= 1e-5f * std::max(1.0f, std::abs(b)))
        << name << " " << i << ": " << a << " " << b;
  }
}

void expect_outputs(const NamedTensors& got, const std::map<std::string, Tensor>& want) {
  EXPECT_EQ(got.size(), want.size());
  for (const auto& [name, tensor] : got) {
    const std::string leaf = name.starts_with("output.") ? name.substr(7) : name;
    ASSERT_TRUE(want.contains(leaf)) << leaf;
    expect_close(tensor, want.at(leaf), leaf);
  }
}

class Programs : public testing::TestWithParam<const char*> {};

TEST_P(Programs, GiveTorchsResults) {
  const Session session = open(GetParam());
  const Calls calls(GetParam());
  for (int64_t call = 0; !calls.part("in", call).empty(); ++call) {
    const auto inputs = named(session, calls.part("in", call));
    expect_outputs(session.run(inputs), calls.part("out", call));
    // Nothing of the caller's was written to.
    for (const auto& [name, tensor] : named(session, calls.part("in", call)))
      expect_close(inputs.at(name), tensor, name);
  }
}

INSTANTIATE_TEST_SUITE_P(Dynamo, Programs,
                         testing::Values("sizes", "numbers", "views", "cache", "counter", "branch",
                                         "constants", "kinds"));

TEST(DynamoPrograms, UpdateInputsInPlaceWhereTheOutputHasTheirMemory) {
  const Session session = open("cache");
  const Calls calls("cache");
  const auto inputs = named(session, calls.part("in", 0));
  ASSERT_TRUE(inputs.contains("input.keys"));
  const auto results = session.run_into(inputs, {{"output.keys", inputs.at("input.keys")}},
                                        {"output.keys", "output.position"});
  EXPECT_EQ(results[0].second.data(), inputs.at("input.keys").data());
  expect_close(inputs.at("input.keys"), calls.part("out", 0).at("keys"), "keys");
  expect_close(results[1].second, calls.part("out", 0).at("position"), "position");
  expect_close(inputs.at("input.position"), calls.part("in", 0).at("position"), "position");
}

TEST(DynamoPrograms, KeepTheStateOfEachSessionApart) {
  const Calls calls("counter");
  const Session first = open("counter"), second = open("counter");
  first.run(named(first, calls.part("in", 0)));
  expect_outputs(second.run(named(second, calls.part("in", 0))), calls.part("out", 0));
  expect_outputs(first.run(named(first, calls.part("in", 1))), calls.part("out", 1));
}

TEST(DynamoPrograms, GiveSeveralThreadsTheirOwnResults) {
  const Session session = open("sizes");
  const Calls calls("sizes");
  std::vector<std::thread> threads;
  for (int64_t i = 0; i < 4; ++i)
    threads.emplace_back([&, i] {
      for (int round = 0; round < 20; ++round)
        expect_outputs(session.run(named(session, calls.part("in", i % 2))),
                       calls.part("out", i % 2));
    });
  for (std::thread& thread : threads) thread.join();
}

template <class Call>
void expect_error(ErrorKind kind, const std::string& part, Call call) {
  try {
    call();
    ADD_FAILURE() << "no error; need one with " << part;
  } catch (const Error& e) {
    EXPECT_EQ(e.kind(), kind) << e.what();
    EXPECT_NE(std::string(e.what()).find(part), std::string::npos) << e.what();
  }
}

TEST(DynamoPrograms, RefuseInputsThatDoNotFit) {
  const Session session = open("views");
  const auto run = [&](const Tensor& x) { session.run({{"x", x}}); };
  expect_error(kInvalid, "x is int64, need float32", [&] { run(Tensor(DType::kI64, {3, 4})); });
  expect_error(kInvalid, "x has 1 dimensions, need 2", [&] { run(Tensor(DType::kF32, {4})); });
  expect_error(kInvalid, "dimension 1 of x is 5, need 4", [&] {
    run(Tensor(DType::kF32, {3, 5}));
  });
  expect_error(kInvalid, "needs the input x", [&] { session.run({}); });
  expect_error(kUsage, "no input y", [&] { session.run({{"y", Tensor(DType::kF32, {3, 4})}}); });
}

TEST(DynamoPrograms, NameTheDevicesThereAre) {
  SessionOptions options;
  options.device = "cuda:7";
  expect_error(kEnvironment, "it has",
               [&] { Session::open("dynamo", programs() / "views.pt2", options); });
  options.device = "gpu:x";
  expect_error(kUsage, "gpu:x",
               [&] { Session::open("dynamo", programs() / "views.pt2", options); });
}

std::string replaced(std::string text, const std::string& from, const std::string& to) {
  size_t found = 0;
  for (size_t at = text.find(from); at != text.npos; at = text.find(from, at + to.size()), ++found)
    text.replace(at, from.size(), to);
  EXPECT_GT(found, 0u) << from;
  return text;
}

/// A copy of a program with one entry changed, or left out when `edit` gives nothing.
class Edited {
 public:
  using Edit = std::function<std::optional<std::string>(const std::string& contents)>;

  Edited(const std::string& program, const std::string& entry, const Edit& edit) {
    const auto source = dynamo::Archive::open(programs() / (program + ".pt2"));
    dynamo::ArchiveWriter writer(source->root());
    for (const auto& [name, place] : source->entries()) {
      std::string contents(source->text(name));
      if (name == entry) {
        const auto changed = edit(contents);
        if (!changed) continue;
        contents = *changed;
      }
      writer.add(name, contents);
    }
    writer.write(path());
  }
  fs::path path() const { return scratch_.path() / "edited.pt2"; }

  void expect_refused(ErrorKind kind, const std::string& part) const {
    expect_error(kind, part, [&] { Session::open("dynamo", path()); });
  }

 private:
  Scratch scratch_;
};

constexpr const char* kModel = "models/model.json";

TEST(DynamoPrograms, RefuseOpsThatThisLibtorchLacksAllAtOnce) {
  const Edited edited("views", kModel, [](const std::string& text) {
    return replaced(replaced(text, "torch.ops.aten.mul_.Tensor", "torch.ops.aten.no_such.Tensor"),
                    "torch.ops.aten.add_.Tensor", "torch.ops.mine.op.default");
  });
  edited.expect_refused(kUnsupported, "2 ops");
  edited.expect_refused(kUnsupported, "aten::no_such.Tensor x1, mine::op x1");
}

TEST(DynamoPrograms, RefuseOpsThatReachBeyondTensors) {
  const Edited edited("views", kModel, [](const std::string& text) {
    return replaced(text, "torch.ops.aten.clone.default", "torch.ops.aten.from_file.default");
  });
  edited.expect_refused(kUnsupported, "aten::from_file x1");
}

TEST(DynamoPrograms, RefuseGraphsThatDoNotFitTogether) {
  const Edited argument("views", kModel, [](const std::string& text) {
    return replaced(text, R"("name": "dim", "arg")", R"("name": "dam", "arg")");
  });
  argument.expect_refused(kUnsupported, "dam");
  const Edited unknown("views", kModel, [](const std::string& text) {
    return replaced(text, R"({"as_tensor": {"name": "clone"}}, "kind": 1)",
                    R"({"as_tensor": {"name": "nobody"}}, "kind": 1)");
  });
  unknown.expect_refused(kInvalid, "nobody");
}

TEST(DynamoPrograms, RefuseMissingAndShortWeights) {
  const Edited missing("constants", "data/weights/weight_0",
                       [](const std::string&) { return std::nullopt; });
  missing.expect_refused(kInvalid, "weight_0");
  const Edited cut("constants", "data/weights/weight_0",
                   [](const std::string& bytes) { return bytes.substr(0, 8); });
  cut.expect_refused(kInvalid, "needs");
  const Edited table(
      "constants", "data/weights/model_weights_config.json",
      [](const std::string& text) { return replaced(text, R"("turned")", R"("other")"); });
  table.expect_refused(kInvalid, "turned");
}

}  // namespace
}  // namespace slipway::golden
