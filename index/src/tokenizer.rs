//! Reads the words of a field that the analysis encoded.

use tantivy::tokenizer::{Token, TokenStream, Tokenizer};
use trawl_engine::text::{EncodedWord, EncodedWordReader, encoded_words};

pub(crate) const TOKENIZER: &str = "trawl_encoded";

#[derive(Debug, Clone, Default)]
pub(crate) struct EncodedTokenizer {
    token: Token,
}

impl Tokenizer for EncodedTokenizer {
    type TokenStream<'a> = EncodedStream<'a>;

    fn token_stream<'a>(&'a mut self, text: &'a str) -> EncodedStream<'a> {
        self.token.reset();
        let (prefix, words) = encoded_words(text);
        self.token.text.push_str(prefix);
        EncodedStream { token: &mut self.token, words, prefix_len: prefix.len() }
    }
}

pub(crate) struct EncodedStream<'a> {
    token: &'a mut Token,
    words: EncodedWordReader<'a>,
    prefix_len: usize,
}

impl TokenStream for EncodedStream<'_> {
    fn advance(&mut self) -> bool {
        let Some(EncodedWord { distance, word }) = self.words.next() else { return false };
        // It starts at the largest number.
        self.token.position = self.token.position.wrapping_add(distance);
        self.token.text.truncate(self.prefix_len);
        self.token.text.push_str(word);
        true
    }

    fn token(&self) -> &Token {
        self.token
    }

    fn token_mut(&mut self) -> &mut Token {
        self.token
    }
}

#[cfg(test)]
mod tests {
    use trawl_engine::text::EncodedWords;

    use super::*;

    #[test]
    fn terms_carry_the_scope_and_their_position() {
        let mut words = EncodedWords::new("7.news\0");
        words.add_marker();
        words.add_text("Cats 中国");
        words.add_text("dog");
        let encoded = words.finish().unwrap();

        let mut tokenizer = EncodedTokenizer::default();
        let mut stream = tokenizer.token_stream(&encoded);
        let mut read = Vec::new();
        while let Some(token) = stream.next() {
            read.push((token.position, token.text.clone()));
        }
        let expected = [(0, ""), (2, "cat"), (2, "cats"), (3, "中"), (3, "中国"), (4, "国"), (6, "dog")];
        assert_eq!(read, expected.map(|(position, word)| (position, format!("7.news\0{word}"))));
    }
}
