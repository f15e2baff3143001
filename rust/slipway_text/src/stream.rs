//! Decoding of ids that arrive one by one: text leaves as soon as later ids cannot change it.

use crate::ffi::Outcome;
use std::sync::Arc;
use tokenizers::Tokenizer;

/// The window holds the ids whose text was given last (`given` of them) and the ids still held back.
/// Decoding both gives the new text in its context: a decoder treats the first token specially.
pub struct Stream {
    tokenizer: Arc<Tokenizer>,
    skip_special_tokens: bool,
    window: Vec<u32>,
    given: usize,
}

impl Stream {
    pub fn new(tokenizer: Arc<Tokenizer>, skip_special_tokens: bool) -> Stream {
        Stream { tokenizer, skip_special_tokens, window: Vec::new(), given: 0 }
    }

    pub fn push(&mut self, id: u32) -> Outcome<String> {
        self.window.push(id);
        let text = self.fresh_text()?;
        // A replacement character at the end is a character whose bytes are not all here yet.
        if text.is_empty() || text.ends_with('\u{FFFD}') {
            return Ok(String::new());
        }
        self.window.drain(..self.given);
        self.given = self.window.len();
        Ok(text)
    }

    pub fn finish(&mut self) -> Outcome<String> {
        let text = self.fresh_text()?;
        self.window.clear();
        self.given = 0;
        Ok(text)
    }

    /// The window's text without what was given before. Bytes that are not UTF-8 can turn a character
    /// before them into a replacement character; what was given then stays as it was.
    fn fresh_text(&self) -> Outcome<String> {
        let (before, now) = self.decode()?;
        match now.strip_prefix(&before) {
            Some(rest) => Ok(rest.to_string()),
            None => Ok(now.chars().skip(before.chars().count()).collect()),
        }
    }

    fn decode(&self) -> Outcome<(String, String)> {
        let before = self.tokenizer.decode(&self.window[..self.given], self.skip_special_tokens)?;
        let now = self.tokenizer.decode(&self.window, self.skip_special_tokens)?;
        Ok((before, now))
    }
}
