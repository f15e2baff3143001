// Sizes of exports: fixed by an example, named and bounded by Dims, and what does not fit.
#include "case_util.h"

namespace slipway::cases {
namespace {

/// All of bert's inputs with the same two dimensions.
DynamicShapes bert_shapes(const Dim& rows, const Dim& tokens) {
  DynamicShapes shapes;
  for (const char* input : {"input_ids", "attention_mask", "token_type_ids"})
    shapes[input] = {{0, rows}, {1, tokens}};
  return shapes;
}

ExportedModel export_bert(const DynamicShapes& shapes, bool narrow = false) {
  OnnxConfig config;
  config.dynamic_shapes = shapes;
  config.prefer_deferred_runtime_asserts_over_guards = narrow;
  return export_checkpoint(golden::folder("bert-base"), "auto", config);
}

std::string refusal(const DynamicShapes& shapes) {
  return error_of(kInvalid, [&] { export_bert(shapes); });
}

TEST(CaseSizes, AStaticExportRunsAtItsSizeOnly) {
  const TestFolder t;
  for (const char* model : {"bert-base", "llama-causal-lm"}) {
    SCOPED_TRACE(model);
    const ToolResult exported =
        run_tool({"export", golden::folder(model).string(), (t / "out").string(), "--static",
                  "--batch-size", "2", "--sequence-length", "7", "--json"});
    ASSERT_EQ(exported.code, 0) << exported.err;
    const ExportedModel loaded = ExportedModel::from_pretrained(t / "out");
    EXPECT_EQ(dims_of(loaded, "input_ids"), (std::vector<std::string>{"2", "7"}));
    EXPECT_EQ(dims_of(loaded, "attention_mask"), (std::vector<std::string>{"2", "7"}));
    const Inputs inputs = {{"input_ids", token_ids(2, 7)}};
    const ExportedModel dynamic = export_checkpoint(
        golden::folder(model), model == std::string("bert-base") ? "auto" : "text-generation");
    EXPECT_LE(difference(loaded(inputs)[0].second, dynamic(inputs)[0].second), 1e-5);
    for (const Shape& other : {Shape{1, 7}, Shape{2, 6}, Shape{2, 8}}) {
      const std::string message = error_of(kInvalid, [&] {
        loaded({{"input_ids", token_ids(other[0], other[1])}});
      });
      EXPECT_TRUE(contains(message, shape_string(other)));
      EXPECT_TRUE(contains(message, "need [2, 7]"));
    }
  }
}

TEST(CaseSizes, AutoIsWhatOthersSayOfTheSameSize) {
  const Dim tokens{"tokens", 1, 16};
  for (const bool first : {true, false}) {
    DynamicShapes shapes = bert_shapes(Dim::AUTO(), Dim::AUTO());
    shapes[first ? "attention_mask" : "token_type_ids"][1] = tokens;
    const ExportedModel exported = export_bert(shapes);
    for (const char* input : {"input_ids", "attention_mask", "token_type_ids"})
      EXPECT_EQ(dims_of(exported, input), (std::vector<std::string>{"batch_size", "tokens"}));
    EXPECT_TRUE(contains(error_of(kInvalid,
                                  [&] {
                                    exported({{"input_ids", token_ids(2, 17)}});
                                  }),
                         "17"));
  }
}

TEST(CaseSizes, StaticFlagsThatDoNotFitAreRefused) {
  const fs::path llama = golden::folder("llama-causal-lm"), bert = golden::folder("bert-base");
  EXPECT_TRUE(contains(refused(llama, 2, {"--static"}), "--batch-size"));
  EXPECT_TRUE(contains(refused(llama, 2, {"--batch-size", "2"}), "--static"));
  EXPECT_TRUE(contains(refused(llama, 4,
                               {"--static", "--batch-size", "2", "--sequence-length", "7", "--task",
                                "text-generation-with-past"}),
                       "text-generation"));
  const std::string message =
      refused(bert, 3, {"--static", "--batch-size", "2", "--sequence-length", "33"});
  EXPECT_TRUE(contains(message, "33"));
  EXPECT_TRUE(contains(message, "32"));
}

TEST(CaseSizes, NamesAndBoundsOfDimsHoldAtRunTime) {
  const TestFolder t;
  export_bert(bert_shapes(Dim("rows", 1, 32), Dim("tokens", 2, 16))).save_pretrained(t / "out");
  const ExportedModel loaded = ExportedModel::from_pretrained(t / "out");
  for (const char* input : {"input_ids", "attention_mask", "token_type_ids"})
    EXPECT_EQ(dims_of(loaded, input), (std::vector<std::string>{"rows", "tokens"}));
  EXPECT_EQ(loaded.program().outputs()[0].dims, (std::vector<std::string>{"rows", "tokens", "32"}));
  for (const auto& [rows, tokens] : {std::pair<int64_t, int64_t>{1, 2}, {32, 16}, {3, 5}})
    EXPECT_EQ(loaded({{"input_ids", token_ids(rows, tokens)}})[0].second.shape(),
              (Shape{rows, tokens, 32}));
  const auto message = [&](int64_t rows, int64_t tokens) {
    return error_of(kInvalid, [&] { loaded({{"input_ids", token_ids(rows, tokens)}}); });
  };
  EXPECT_TRUE(contains(message(33, 5), "input_ids has rows 33, the model takes 1 to 32"));
  EXPECT_TRUE(contains(message(2, 17), "input_ids has tokens 17, the model takes 2 to 16"));
  EXPECT_TRUE(contains(message(2, 1), "input_ids has tokens 1, the model takes 2 to 16"));
}

TEST(CaseSizes, AxesWithoutADimKeepTheExamplesSize) {
  DynamicShapes shapes;
  for (const char* input : {"input_ids", "attention_mask", "token_type_ids"})
    shapes[input] = {{1, Dim("tokens")}};
  const ExportedModel exported = export_bert(shapes);
  EXPECT_EQ(dims_of(exported, "input_ids"), (std::vector<std::string>{"2", "tokens"}));
  EXPECT_EQ(exported({{"input_ids", token_ids(2, 3)}})[0].second.dim(1), 3);
  EXPECT_TRUE(contains(error_of(kInvalid,
                                [&] {
                                  exported({{"input_ids", token_ids(3, 3)}});
                                }),
                       "need [2, tokens]"));
}

TEST(CaseSizes, AutoIsTheModelsOwnDimension) {
  const ExportedModel exported = export_bert(bert_shapes(Dim::AUTO(), Dim::AUTO()));
  EXPECT_EQ(dims_of(exported, "input_ids"),
            (std::vector<std::string>{"batch_size", "sequence_length"}));
}

TEST(CaseSizes, DimsOfADecoderWithItsCache) {
  OnnxConfig config;
  const Dim rows("rows", 1, 4), now("now", 1, 8), before("before", 0, 16);
  config.dynamic_shapes = {{"input_ids", {{0, rows}, {1, now}}},
                           {"position_ids", {{0, rows}, {1, now}}},
                           {"attention_mask", {{0, rows}, {1, Dim::AUTO()}}}};
  for (const char* layer : {"0", "1"})
    for (const char* part : {"keys", "values"})
      (*config.dynamic_shapes)[std::string("past_key_values.layers.") + layer + "." + part] = {
          {0, rows}, {2, before}};
  const ExportedModel exported =
      export_checkpoint(golden::folder("llama-causal-lm"), "text-generation-with-past", config);
  EXPECT_EQ(dims_of(exported, "past_key_values.layers.1.keys"),
            (std::vector<std::string>{"rows", "2", "before", "8"}));
  const auto first = exported({{"input_ids", token_ids(2, 8)}});
  EXPECT_EQ(by_name(first).at("logits").shape(), (Shape{2, 8, 128}));
  Inputs next = {{"input_ids", token_ids(2, 1)}};
  for (const auto& [name, tensor] : first)
    if (name.starts_with("past_key_values")) next[name] = tensor;
  EXPECT_EQ(by_name(exported(next)).at("past_key_values.layers.0.keys").dim(2), 9);
  EXPECT_TRUE(contains(error_of(kInvalid,
                                [&] {
                                  exported({{"input_ids", token_ids(2, 9)}});
                                }),
                       "now 9, the model takes 1 to 8"));
}

TEST(CaseSizes, ConflictsNameBothSides) {
  DynamicShapes two_names = bert_shapes(Dim("rows"), Dim("tokens"));
  two_names["attention_mask"][1] = Dim("columns");
  const std::string names = refusal(two_names);
  for (const char* part :
       {"tokens", "columns", "input_ids dimension 1", "attention_mask dimension 1"})
    EXPECT_TRUE(contains(names, part));

  DynamicShapes two_bounds = bert_shapes(Dim("rows"), Dim("tokens", 1, 16));
  two_bounds["attention_mask"][1] = Dim("tokens", 1, 8);
  const std::string bounds = refusal(two_bounds);
  for (const char* part : {"16", "8", "input_ids dimension 1", "attention_mask dimension 1"})
    EXPECT_TRUE(contains(bounds, part));

  DynamicShapes fixed = bert_shapes(Dim("rows"), Dim("tokens"));
  fixed["attention_mask"].erase(0);
  const std::string example = refusal(fixed);
  for (const char* part : {"rows", "2", "input_ids dimension 0", "attention_mask dimension 0"})
    EXPECT_TRUE(contains(example, part));
}

TEST(CaseSizes, AnInputThatIsLeftOutFollowsTheOthers) {
  DynamicShapes shapes = bert_shapes(Dim("rows"), Dim("tokens"));
  shapes.erase("attention_mask");
  const ExportedModel exported = export_bert(shapes);
  EXPECT_EQ(dims_of(exported, "attention_mask"), (std::vector<std::string>{"rows", "tokens"}));
  EXPECT_EQ(exported({{"input_ids", token_ids(3, 5)}})[0].second.dim(1), 5);
}

TEST(CaseSizes, OneDimForTwoDimensionsMakesThemEqual) {
  const ExportedModel exported = export_bert(bert_shapes(Dim("n", 2), Dim("n", 2)));
  EXPECT_EQ(dims_of(exported, "input_ids"), (std::vector<std::string>{"n", "n"}));
  const Inputs inputs = {{"input_ids", token_ids(4, 4)}};
  EXPECT_LE(difference(exported(inputs)[0].second,
                       export_checkpoint(golden::folder("bert-base"))(inputs)[0].second),
            1e-5);
  const auto message = [&](int64_t rows, int64_t tokens) {
    return error_of(kInvalid, [&] { exported({{"input_ids", token_ids(rows, tokens)}}); });
  };
  EXPECT_TRUE(contains(message(3, 4), "both need the same size"));
  EXPECT_TRUE(contains(message(1, 1), "n 1, the model takes 2 to 32"));
  EXPECT_TRUE(contains(message(33, 33), "n 33, the model takes 2 to 32"));
}

TEST(CaseSizes, OneNameWithTwoMeaningsIsRefused) {
  const std::string bounds = refusal(bert_shapes(Dim("n", 1, 8), Dim("n", 1, 4)));
  for (const char* part :
       {"input_ids dimension 0 is n in 1..8", "input_ids dimension 1 is n in 1..4"})
    EXPECT_TRUE(contains(bounds, part));
  // The model's own name of the other dimension, which stays as it is.
  EXPECT_TRUE(
      contains(refusal(bert_shapes(Dim("sequence_length"), Dim::AUTO())), "one name is one size"));
  EXPECT_EQ(
      dims_of(export_bert(bert_shapes(Dim("sequence_length"), Dim("batch_size"))), "input_ids"),
      (std::vector<std::string>{"sequence_length", "batch_size"}));
}

TEST(CaseSizes, ANameThatIsNoIdentifierIsRefused) {
  for (const char* name : {"batch size", "2rows", "rows+1", "a\nb"})
    EXPECT_TRUE(contains(refusal(bert_shapes(Dim(name), Dim("tokens"))), "cannot name a dimension"))
        << name;
}

TEST(CaseSizes, BoundsBeyondTheModel) {
  const DynamicShapes shapes = bert_shapes(Dim("rows"), Dim("tokens", 1, 64));
  const std::string message = refusal(shapes);
  for (const char* part : {"'tokens' spans 1..64", "1..32", "prefer_deferred_runtime_asserts"})
    EXPECT_TRUE(contains(message, part));
  const ExportedModel narrowed = export_bert(shapes, true);
  EXPECT_EQ(narrowed({{"input_ids", token_ids(1, 32)}})[0].second.dim(1), 32);
  EXPECT_TRUE(contains(error_of(kInvalid,
                                [&] {
                                  narrowed({{"input_ids", token_ids(1, 33)}});
                                }),
                       "tokens 33, the model takes 1 to 32"));
  EXPECT_TRUE(
      contains(refusal(bert_shapes(Dim("rows", 8, 2), Dim("tokens"))), "min 8 above max 2"));
}

TEST(CaseSizes, UnknownInputsAndAxesAreNamed) {
  DynamicShapes shapes = bert_shapes(Dim("rows"), Dim("tokens"));
  shapes["pixel_values"] = {{0, Dim("rows")}};
  EXPECT_TRUE(contains(refusal(shapes), "pixel_values"));
  shapes.erase("pixel_values");
  shapes["input_ids"][2] = Dim("depth");
  EXPECT_TRUE(contains(refusal(shapes), "dimension 2 of 'input_ids'"));
}

}  // namespace
}  // namespace slipway::cases
