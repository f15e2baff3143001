//! A tokenizer as the reference sets it up: its file, then the tokens its configuration adds.

use crate::ffi::Outcome;
use serde_json::Value;
use tokenizers::utils::padding::{pad_encodings, PaddingDirection, PaddingParams, PaddingStrategy};
use tokenizers::utils::truncation::{truncate_encodings, TruncationDirection, TruncationParams};
use tokenizers::{AddedToken, EncodeInput, Encoding, PostProcessor, Tokenizer};

/// A limit of tokens per row, special ones included, and the side that loses the surplus.
pub struct Limit {
    pub max_length: usize,
    pub direction: TruncationDirection,
}

pub struct Padding {
    pub direction: PaddingDirection,
    pub id: u32,
    pub type_id: u32,
}

pub fn load(json: &str, added_tokens: &str) -> Outcome<Tokenizer> {
    let mut tokenizer = Tokenizer::from_bytes(json.as_bytes())?;
    tokenizer.with_truncation(None)?;
    tokenizer.with_padding(None);
    if !added_tokens.is_empty() {
        let rows: Vec<Value> = serde_json::from_str(added_tokens)?;
        add_tokens(&mut tokenizer, &rows)?;
    }
    Ok(tokenizer)
}

fn add_tokens(tokenizer: &mut Tokenizer, rows: &[Value]) -> Outcome<()> {
    let known = tokenizer.get_added_tokens_decoder();
    let mut tokens = Vec::new();
    for row in rows {
        let content = row["content"].as_str().ok_or("an added token has no `content`")?;
        let special = row["special"].as_bool();
        // A token that is not among the added ones yet starts as the reference makes one from a string.
        let mut token = tokenizer
            .token_to_id(content)
            .and_then(|id| known.get(&id).cloned())
            .unwrap_or_else(|| AddedToken::from(content, special.unwrap_or(false)));
        let flag = |name: &str, now: bool| row[name].as_bool().unwrap_or(now);
        token.special = flag("special", token.special);
        token.single_word = flag("single_word", token.single_word);
        token.lstrip = flag("lstrip", token.lstrip);
        token.rstrip = flag("rstrip", token.rstrip);
        token.normalized = flag("normalized", token.normalized);
        tokens.push(token);
    }
    tokenizer.add_tokens(tokens)?;
    for row in rows {
        let (content, wanted) = (row["content"].as_str().unwrap_or(""), row["id"].as_u64());
        let got = tokenizer.token_to_id(content).map(u64::from);
        if wanted.is_some() && !content.is_empty() && wanted != got {
            let (wanted, got) = (wanted.unwrap_or(0), got.unwrap_or(0));
            return Err(format!("the added token {content:?} has id {got}, need {wanted}").into());
        }
    }
    Ok(())
}

pub fn max_id(tokenizer: &Tokenizer) -> u32 {
    tokenizer.get_vocab(true).into_values().max().unwrap_or(0)
}

/// One row. With a limit, each text is cut before the special tokens are put around it.
pub fn encode(
    tokenizer: &Tokenizer,
    text: &str,
    pair: Option<&str>,
    add_special_tokens: bool,
    limit: Option<&Limit>,
) -> Outcome<Encoding> {
    let Some(limit) = limit else {
        let input: EncodeInput = match pair {
            Some(pair) => (text, pair).into(),
            None => text.into(),
        };
        return tokenizer.encode(input, add_special_tokens);
    };
    let first = tokenizer.encode(text, false)?;
    let second = pair.map(|pair| tokenizer.encode(pair, false)).transpose()?.map(|mut encoding| {
        encoding.set_type_ids(vec![1; encoding.len()]);
        encoding
    });
    let processor = tokenizer.get_post_processor().filter(|_| add_special_tokens);
    let added = processor.map_or(0, |processor| processor.added_tokens(second.is_some()));
    let room = limit.max_length.checked_sub(added).ok_or_else(|| {
        format!("max_length is {}, need at least {added} for the special tokens", limit.max_length)
    })?;
    let params = TruncationParams { max_length: room, direction: limit.direction, ..Default::default() };
    let (first, second) = truncate_encodings(first, second, &params)?;
    tokenizer.post_process(first, second, add_special_tokens)
}

/// Pads every row to the longest.
pub fn pad(encodings: &mut [Encoding], padding: &Padding) -> Outcome<()> {
    pad_encodings(
        encodings,
        &PaddingParams {
            strategy: PaddingStrategy::BatchLongest,
            direction: padding.direction,
            pad_to_multiple_of: None,
            pad_id: padding.id,
            pad_type_id: padding.type_id,
            pad_token: String::new(),
        },
    )
}
