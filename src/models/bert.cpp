// BERT (Devlin et al. 2019): the post-norm encoder and its heads.
#include <cmath>

#include "models/common/layers.h"

namespace slipway::models {
namespace {

struct BertConfig {
  int64_t vocab_size, hidden_size, intermediate_size, num_hidden_layers, num_attention_heads;
  int64_t max_position_embeddings, type_vocab_size;
  double layer_norm_eps;
  std::string hidden_act;
};

BertConfig read(const Config& config) {
  if (config.get_bool_or("is_decoder", false) || config.get_bool_or("add_cross_attention", false))
    throw Error(kUnsupported,
                "[bert] " + config.source() +
                    " sets is_decoder or add_cross_attention; only the encoder is supported");
  if (config.get_string_or("position_embedding_type", "absolute") != "absolute")
    throw Error(kUnsupported,
                "[bert] position_embedding_type of " + config.source() + " must be 'absolute'");
  return {.vocab_size = config.get_int("vocab_size", 1),
          .hidden_size = config.get_int("hidden_size", 1),
          .intermediate_size = config.get_int("intermediate_size", 1),
          .num_hidden_layers = config.get_int("num_hidden_layers", 1, 100000),
          .num_attention_heads = config.get_int("num_attention_heads", 1),
          .max_position_embeddings = config.get_int("max_position_embeddings", 1),
          .type_vocab_size = config.get_int_or("type_vocab_size", 2, 1),
          .layer_norm_eps = read_epsilon(config, "layer_norm_eps", 1e-12),
          .hidden_act = config.get_string_or("hidden_act", "gelu")};
}

/// Without an input of types every token is of type 0.
Value token_types(const Scope& s, const BertConfig& c, Value types) {
  const std::string_view why = "type_vocab_size x hidden_size";
  if (types.defined()) return embedding(s, types, c.type_vocab_size, c.hidden_size, why);
  const auto in = s.enter();
  return slice(s.weight("weight", {c.type_vocab_size, c.hidden_size}, why), 0, 0, 1);
}

Value embeddings(const Scope& s, const BertConfig& c, Value ids, Value types) {
  const auto in = s.enter();
  const Value words = embedding(s / "word_embeddings", ids, c.vocab_size, c.hidden_size,
                                "vocab_size x hidden_size");
  const Value kinds = token_types(s / "token_type_embeddings", c, types);
  const Value table = (s / "position_embeddings")
                          .weight("weight", {c.max_position_embeddings, c.hidden_size},
                                  "max_position_embeddings x hidden_size");
  const Value positions = slice(table, 0, 0, ids.dim(1));
  return layer_norm(s / "LayerNorm", words + kinds + positions, c.layer_norm_eps);
}

Value self_attention(const Scope& s, const BertConfig& c, Value x, Value mask) {
  const Scope self = s / "self";
  const int64_t heads = c.num_attention_heads, head_dim = c.hidden_size / heads;
  const auto project = [&](std::string_view name) {
    return split_heads(linear(self / name, x, c.hidden_size, Bias::kYes, "hidden_size"), heads,
                       head_dim);
  };
  const auto in = self.enter();
  const Value q = project("query"), k = project("key"), v = project("value");
  const Value y =
      merge_heads(attention(q, k, v, mask, 1.0 / std::sqrt(static_cast<double>(head_dim))));
  const Scope out = s / "output";
  const Value dense = linear(out / "dense", y, c.hidden_size, Bias::kYes, "hidden_size");
  return layer_norm(out / "LayerNorm", dense + x, c.layer_norm_eps);
}

Value layer(const Scope& s, const BertConfig& c, Value x, Value mask) {
  x = self_attention(s / "attention", c, x, mask);
  const Value up =
      linear(s / "intermediate" / "dense", x, c.intermediate_size, Bias::kYes, "intermediate_size");
  const auto in = s.enter();
  const Value down = linear(s / "output" / "dense", activation(c.hidden_act, up), c.hidden_size,
                            Bias::kYes, "hidden_size x intermediate_size");
  return layer_norm(s / "output" / "LayerNorm", down + x, c.layer_norm_eps);
}

Value encoder(ModelBuilder& m, const BertConfig& c) {
  if (c.hidden_size % c.num_attention_heads != 0)
    throw Error(kInvalid, "[bert] hidden_size does not divide by num_attention_heads in " +
                              m.config().source());
  const Sym batch = m.dim("batch_size", 1);
  const Sym length =
      m.dim("sequence_length", 1, c.max_position_embeddings, "max_position_embeddings");
  const Value ids = m.ids("input_ids", {batch, length}, c.vocab_size);
  const Value padding = m.input("attention_mask", DType::kI64, {batch, length});
  Value types;
  if (m.wants("token_type_ids"))
    types = m.ids("token_type_ids", {batch, length}, c.type_vocab_size);
  const Scope s = m.scope("bert");
  const auto in = s.enter();
  const Value mask = unsqueeze(unsqueeze(to(padding, DType::kBool), 1), 1);
  Value x = embeddings(s / "embeddings", c, ids, types);
  for (int64_t i = 0; i < c.num_hidden_layers; ++i)
    x = layer(s / "encoder" / "layer" / i, c, x, mask);
  return x;
}

/// tanh(W x[first token] + b).
Value pooler(ModelBuilder& m, const BertConfig& c, Value x) {
  const Scope s = m.scope("bert.pooler");
  const auto in = s.enter();
  return tanh(linear(s / "dense", select(x, 1, 0), c.hidden_size, Bias::kYes, "hidden_size"));
}

int64_t num_labels(const Config& config) {
  if (config.has("id2label")) return static_cast<int64_t>(config.json().at("id2label").size());
  return config.get_int_or("num_labels", 2, 1);
}

void base(ModelBuilder& m) {
  const BertConfig c = read(m.config());
  const Value x = encoder(m, c);
  m.output("last_hidden_state", x);
  m.output("pooler_output", pooler(m, c, x));
}

void masked_lm(ModelBuilder& m) {
  const BertConfig c = read(m.config());
  const Scope s = m.scope("cls.predictions"), transform = s / "transform";
  if (m.config().get_bool_or("tie_word_embeddings", true))
    m.binder().tie("cls.predictions.decoder.weight", "bert.embeddings.word_embeddings.weight");
  m.binder().tie("cls.predictions.decoder.bias", "cls.predictions.bias");
  Value x = linear(transform / "dense", encoder(m, c), c.hidden_size, Bias::kYes, "hidden_size");
  {
    const auto in = transform.enter();
    x = activation(c.hidden_act, x);
  }
  x = layer_norm(transform / "LayerNorm", x, c.layer_norm_eps);
  m.output("logits",
           linear(s / "decoder", x, c.vocab_size, Bias::kYes, "vocab_size x hidden_size"));
}

void sequence_classification(ModelBuilder& m) {
  const BertConfig c = read(m.config());
  m.output("logits", linear(m.scope("classifier"), pooler(m, c, encoder(m, c)),
                            num_labels(m.config()), Bias::kYes, "the number of labels"));
}

void token_classification(ModelBuilder& m) {
  const BertConfig c = read(m.config());
  m.output("logits", linear(m.scope("classifier"), encoder(m, c), num_labels(m.config()),
                            Bias::kYes, "the number of labels"));
}

void question_answering(ModelBuilder& m) {
  const BertConfig c = read(m.config());
  const Value logits = linear(m.scope("qa_outputs"), encoder(m, c), 2, Bias::kYes, "start and end");
  m.output("start_logits", select(logits, 2, 0));
  m.output("end_logits", select(logits, 2, 1));
}

}  // namespace

extern const ModelType bert;
const ModelType bert = {
    .name = "bert",
    .base_prefix = "bert",
    .ignorable = {"*.position_ids", "cls.seq_relationship.*", "bert.pooler.*"},
    .heads = {
        {"feature-extraction", "BertModel",
         "transformers.modeling_outputs.BaseModelOutputWithPoolingAndCrossAttentions", base},
        {"fill-mask", "BertForMaskedLM", "transformers.modeling_outputs.MaskedLMOutput", masked_lm},
        {"text-classification", "BertForSequenceClassification",
         "transformers.modeling_outputs.SequenceClassifierOutput", sequence_classification},
        {"token-classification", "BertForTokenClassification",
         "transformers.modeling_outputs.TokenClassifierOutput", token_classification},
        {"question-answering", "BertForQuestionAnswering",
         "transformers.modeling_outputs.QuestionAnsweringModelOutput", question_answering}}};

}  // namespace slipway::models
