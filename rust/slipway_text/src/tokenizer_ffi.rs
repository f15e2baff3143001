//! Entry points for tokenizers, encodings and streams.

use crate::ffi::{drop_handle, guard, guard_handle, guard_text, Bytes, Outcome, Str};
use crate::stream::Stream;
use crate::tokenizer::{encode, load, max_id, pad, Limit, Padding};
use std::slice::from_raw_parts;
use std::sync::Arc;
use tokenizers::utils::padding::PaddingDirection;
use tokenizers::utils::truncation::TruncationDirection;
use tokenizers::{Encoding, Tokenizer};

pub struct Handle {
    tokenizer: Arc<Tokenizer>,
    max_id: u32,
}

const LEFT: i32 = 2;

#[repr(C)]
pub struct EncodeOptions {
    add_special_tokens: bool,
    max_length: usize,
    truncation: i32,
    padding: i32,
    pad_id: u32,
    pad_type_id: u32,
}

#[repr(C)]
pub struct EncodingView {
    ids: *const u32,
    type_ids: *const u32,
    attention_mask: *const u32,
    size: usize,
}

#[no_mangle]
pub unsafe extern "C" fn slipway_tokenizer_new(json: Str, added_tokens: Str) -> *mut Handle {
    guard_handle(|| {
        let tokenizer = load(json.text("the tokenizer file")?, added_tokens.text("the added tokens")?)?;
        Ok(Handle { max_id: max_id(&tokenizer), tokenizer: Arc::new(tokenizer) })
    })
}

#[no_mangle]
pub unsafe extern "C" fn slipway_tokenizer_free(handle: *mut Handle) {
    drop_handle(handle)
}

#[no_mangle]
pub unsafe extern "C" fn slipway_tokenizer_vocab_size(handle: *const Handle) -> usize {
    guard(|| Ok((*handle).tokenizer.get_vocab_size(true))).unwrap_or(0)
}

#[no_mangle]
pub unsafe extern "C" fn slipway_tokenizer_max_id(handle: *const Handle) -> u32 {
    (*handle).max_id
}

#[no_mangle]
pub unsafe extern "C" fn slipway_tokenizer_token_to_id(
    handle: *const Handle,
    token: Str,
    id: *mut u32,
) -> bool {
    let found = guard(|| Ok((*handle).tokenizer.token_to_id(token.text("the token")?)));
    match found.flatten() {
        Some(value) => {
            id.write(value);
            true
        }
        None => false,
    }
}

#[no_mangle]
pub unsafe extern "C" fn slipway_tokenizer_id_to_token(
    handle: *const Handle,
    id: u32,
    token: *mut Bytes,
) -> bool {
    guard_text(token, || {
        let known = (*handle).tokenizer.id_to_token(id);
        known.ok_or_else(|| format!("no token has id {id}").into())
    })
}

unsafe fn encode_rows(
    tokenizer: &Tokenizer,
    texts: &[Str],
    pairs: Option<&[Str]>,
    options: &EncodeOptions,
) -> Outcome<Vec<Encoding>> {
    let limit = (options.max_length > 0).then_some(Limit {
        max_length: options.max_length,
        direction: match options.truncation {
            LEFT => TruncationDirection::Left,
            _ => TruncationDirection::Right,
        },
    });
    let mut rows = Vec::with_capacity(texts.len());
    for (index, text) in texts.iter().enumerate() {
        let text = text.text(&format!("text {index}"))?;
        let pair = pairs.map(|pairs| pairs[index].text("the second text")).transpose()?;
        rows.push(encode(tokenizer, text, pair, options.add_special_tokens, limit.as_ref())?);
    }
    if options.padding != 0 {
        let direction = match options.padding {
            LEFT => PaddingDirection::Left,
            _ => PaddingDirection::Right,
        };
        pad(&mut rows, &Padding { direction, id: options.pad_id, type_id: options.pad_type_id })?;
    }
    Ok(rows)
}

#[no_mangle]
pub unsafe extern "C" fn slipway_tokenizer_encode(
    handle: *const Handle,
    texts: *const Str,
    pairs: *const Str,
    count: usize,
    options: *const EncodeOptions,
) -> *mut Vec<Encoding> {
    guard_handle(|| {
        if count == 0 {
            return Ok(Vec::new());
        }
        let pairs = (!pairs.is_null()).then(|| from_raw_parts(pairs, count));
        encode_rows(&(*handle).tokenizer, from_raw_parts(texts, count), pairs, &*options)
    })
}

#[no_mangle]
pub unsafe extern "C" fn slipway_encodings_get(
    encodings: *const Vec<Encoding>,
    index: usize,
) -> EncodingView {
    let rows = &*encodings;
    let empty: &[u32] = &[];
    let (ids, type_ids, mask) = rows
        .get(index)
        .map_or((empty, empty, empty), |row| (row.get_ids(), row.get_type_ids(), row.get_attention_mask()));
    EncodingView {
        ids: ids.as_ptr(),
        type_ids: type_ids.as_ptr(),
        attention_mask: mask.as_ptr(),
        size: ids.len(),
    }
}

#[no_mangle]
pub unsafe extern "C" fn slipway_encodings_free(encodings: *mut Vec<Encoding>) {
    drop_handle(encodings)
}

#[no_mangle]
pub unsafe extern "C" fn slipway_tokenizer_decode(
    handle: *const Handle,
    ids: *const u32,
    count: usize,
    skip_special_tokens: bool,
    text: *mut Bytes,
) -> bool {
    guard_text(text, || {
        let ids = if count == 0 { &[] } else { from_raw_parts(ids, count) };
        (*handle).tokenizer.decode(ids, skip_special_tokens)
    })
}

#[no_mangle]
pub unsafe extern "C" fn slipway_stream_new(handle: *const Handle, skip: bool) -> *mut Stream {
    guard_handle(|| Ok(Stream::new((*handle).tokenizer.clone(), skip)))
}

#[no_mangle]
pub unsafe extern "C" fn slipway_stream_push(stream: *mut Stream, id: u32, text: *mut Bytes) -> bool {
    guard_text(text, || (*stream).push(id))
}

#[no_mangle]
pub unsafe extern "C" fn slipway_stream_finish(stream: *mut Stream, text: *mut Bytes) -> bool {
    guard_text(text, || (*stream).finish())
}

#[no_mangle]
pub unsafe extern "C" fn slipway_stream_free(stream: *mut Stream) {
    drop_handle(stream)
}
