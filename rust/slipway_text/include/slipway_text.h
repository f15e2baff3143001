// The C ABI of the Rust library: tokenizers (encode, decode, stream) and chat templates (Jinja).
// Every handle is immutable except a stream, so handles may be shared between threads; a stream
// belongs to one thread at a time. Text is UTF-8 with a length and may hold NUL bytes. A call that
// fails returns NULL or false and leaves its reason in slipway_text_error(); nothing ever unwinds
// across this boundary.
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct slipway_str {
  const char* data;
  size_t size;
} slipway_str;

/// Memory of the Rust library; give it back with slipway_bytes_free.
typedef struct slipway_bytes {
  char* data;
  size_t size;
} slipway_bytes;
void slipway_bytes_free(slipway_bytes bytes);

/// The reason of this thread's last failure; valid until its next call.
slipway_str slipway_text_error(void);

typedef struct slipway_tokenizer slipway_tokenizer;

/// From the text of a tokenizer.json. `added_tokens` is a JSON array of tokens to add or change:
/// objects with `content` and optionally `id`, `single_word`, `lstrip`, `rstrip`, `normalized`,
/// `special`; what an object leaves out is kept as it is. Truncation and padding that the file
/// asks for are dropped: they are options of each call.
slipway_tokenizer* slipway_tokenizer_new(slipway_str json, slipway_str added_tokens);
void slipway_tokenizer_free(slipway_tokenizer* tokenizer);

/// Tokens of the vocabulary, added ones included.
size_t slipway_tokenizer_vocab_size(const slipway_tokenizer* tokenizer);
/// The largest id that any token has.
uint32_t slipway_tokenizer_max_id(const slipway_tokenizer* tokenizer);
/// False when there is no such token.
bool slipway_tokenizer_token_to_id(const slipway_tokenizer* tokenizer, slipway_str token,
                                   uint32_t* id);
bool slipway_tokenizer_id_to_token(const slipway_tokenizer* tokenizer, uint32_t id,
                                   slipway_bytes* token);

typedef enum slipway_side { SLIPWAY_NONE = 0, SLIPWAY_RIGHT = 1, SLIPWAY_LEFT = 2 } slipway_side;

typedef struct slipway_encode_options {
  bool add_special_tokens;
  size_t max_length;        ///< tokens per row, special ones included; 0: no limit
  slipway_side truncation;  ///< the side that loses tokens; read when max_length is not 0
  slipway_side padding;     ///< SLIPWAY_NONE: rows keep their own lengths; else to the longest
  uint32_t pad_id;
  uint32_t pad_type_id;
} slipway_encode_options;

typedef struct slipway_encoding {
  const uint32_t* ids;
  const uint32_t* type_ids;
  const uint32_t* attention_mask;
  size_t size;
} slipway_encoding;

typedef struct slipway_encodings slipway_encodings;

/// Encodes `count` texts; `pairs` is NULL or as many second texts.
slipway_encodings* slipway_tokenizer_encode(const slipway_tokenizer* tokenizer,
                                            const slipway_str* texts, const slipway_str* pairs,
                                            size_t count, const slipway_encode_options* options);
/// Row `index` < count; valid until the encodings are freed.
slipway_encoding slipway_encodings_get(const slipway_encodings* encodings, size_t index);
void slipway_encodings_free(slipway_encodings* encodings);

/// Ids that are not in the vocabulary give no text, as in the reference.
bool slipway_tokenizer_decode(const slipway_tokenizer* tokenizer, const uint32_t* ids, size_t count,
                              bool skip_special_tokens, slipway_bytes* text);

/// Text of ids that come one by one. The pieces joined are the text of all ids decoded at once,
/// except that bytes which are no UTF-8 never change what was given before them.
typedef struct slipway_stream slipway_stream;
/// The stream keeps the tokenizer alive.
slipway_stream* slipway_stream_new(const slipway_tokenizer* tokenizer, bool skip_special_tokens);
/// The text that is certain now; empty while a character is incomplete.
bool slipway_stream_push(slipway_stream* stream, uint32_t id, slipway_bytes* text);
/// What was held back; the stream then starts afresh.
bool slipway_stream_finish(slipway_stream* stream, slipway_bytes* text);
void slipway_stream_free(slipway_stream* stream);

typedef struct slipway_template slipway_template;
/// Parses a chat template; fails when it is not valid Jinja.
slipway_template* slipway_template_new(slipway_str source);
/// Renders with a JSON object of variables.
bool slipway_template_render(const slipway_template* chat_template, slipway_str variables,
                             slipway_bytes* text);
void slipway_template_free(slipway_template* chat_template);

#ifdef __cplusplus
}
#endif
