//! Tokenizers and chat templates behind a C ABI; include/slipway_text.h says what each call promises.

mod ffi;
mod json_text;
mod python_methods;
mod stream;
mod template;
mod template_ffi;
mod tokenizer;
mod tokenizer_ffi;
