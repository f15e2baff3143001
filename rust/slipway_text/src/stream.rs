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
        let (before, now) = self.decode()?;
        // A replacement character at the end is a character whose bytes are not all here yet. Text
        // that changed what was given before would be wrong whatever follows: wait for more.
        if now.ends_with('\u{FFFD}') || now.len() <= before.len() || !now.starts_with(&before) {
            return Ok(String::new());
        }
        self.window.drain(..self.given);
        self.given = self.window.len();
        Ok(now[before.len()..].to_string())
    }

    pub fn finish(&mut self) -> Outcome<String> {
        let (before, now) = self.decode()?;
        self.window.clear();
        self.given = 0;
        let same = before.chars().zip(now.chars()).take_while(|(a, b)| a == b);
        let size: usize = same.map(|(a, _)| a.len_utf8()).sum();
        Ok(now[size..].to_string())
    }

    fn decode(&self) -> Outcome<(String, String)> {
        let before = self.tokenizer.decode(&self.window[..self.given], self.skip_special_tokens)?;
        let now = self.tokenizer.decode(&self.window, self.skip_special_tokens)?;
        Ok((before, now))
    }
}
