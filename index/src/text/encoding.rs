//! The words of a document in one string, and the tokenizer that reads them back.
//!
//! Texts are analysed by many threads before they are handed to the engine, whose one indexing thread then only splits
//! this encoding. It is the scope's prefix, then for each word a mark (how far its position is from the last one's)
//! and the word; each token is the prefix and the word together.

use tantivy::tokenizer::{Token, TokenStream, Tokenizer};

use super::{Folded, SoundBudget, Spot, document_words, fold, stem, typed};
use crate::document::SCOPE_END;

/// The name that the tokenizer is registered under.
pub(crate) const TOKENIZER: &str = "trawl_encoded";

const NEXT: char = '\u{1}';
const SAME: char = '\u{2}';
/// Leaves one position empty, so that no phrase reaches from one text into the next.
const GAP: char = '\u{3}';

/// What the whole of a name begins with. No word does, so whoever looks for words never meets it.
pub(crate) const WHOLE: char = '=';

/// What a word of the title of a document that holds a text begins with, as [`WHOLE`] does.
pub(crate) const HEADING: char = '#';

/// Words being encoded for one field of one document.
#[derive(Debug)]
pub(crate) struct EncodedWords {
    encoded: String,
    prefix_len: usize,
    /// What the names among the texts may still be found by.
    budget: SoundBudget,
}

impl EncodedWords {
    /// No words yet; all will be under the scope's `prefix`.
    pub(crate) fn new(prefix: &str) -> Self {
        Self { encoded: prefix.to_owned(), prefix_len: prefix.len(), budget: SoundBudget::new() }
    }

    /// Adds the word that is empty: the prefix alone, which finds every document of the scope.
    pub(crate) fn add_marker(&mut self) {
        self.encoded.push(NEXT);
    }

    /// Adds a text; it begins one position further from the last text than words of one text are.
    pub(crate) fn add_text(&mut self, text: &str) {
        let mut first = self.encoded.len() > self.prefix_len;
        document_words(&fold(text), |spot, _, word| self.add_word(spot, std::mem::take(&mut first), word));
    }

    /// Adds a text that is a name: the same words, and at the place of each also how the name is typed from there on. Phrases
    /// are none the less exact, of characters and of syllables. At its end stands what the whole of it is. All names of a document
    /// share one budget of these ways to type them, which those that are added first use up first; the rest are words only.
    pub(crate) fn add_name(&mut self, name: &str) {
        let mut first = self.encoded.len() > self.prefix_len;
        let folded = Folded::new(name);
        let (sounds, wholes) = typed(name, &folded, &mut self.budget);
        let mut sounds = sounds.iter().peekable();
        document_words(&folded.text, |spot, place, word| {
            self.add_word(spot, std::mem::take(&mut first), word);
            while let Some(sound) = sounds.next_if(|sound| sound.place.start <= place) {
                // As any word of letters: who types one that is not the last asks for its stem.
                let stem = stem(&sound.word);
                self.add_word(Spot::Same, false, &stem);
                if stem != sound.word {
                    self.add_word(Spot::Same, false, &sound.word);
                }
            }
        });
        for whole in wholes {
            self.add_word(Spot::Same, false, &format!("{WHOLE}{whole}"));
        }
    }

    /// Adds the words of a text that stands above another one, each told from the same word elsewhere.
    pub(crate) fn add_headings(&mut self, text: &str) {
        document_words(&fold(text), |spot, _, word| self.add_word(spot, false, &format!("{HEADING}{word}")));
    }

    fn add_word(&mut self, spot: Spot, begins_text: bool, word: &str) {
        self.encoded.push(match spot {
            _ if begins_text => GAP,
            Spot::Next => NEXT,
            Spot::Same => SAME,
        });
        self.encoded.push_str(word);
    }

    /// The encoding, or nothing where there is no word.
    pub(crate) fn finish(self) -> Option<String> {
        (self.encoded.len() > self.prefix_len).then_some(self.encoded)
    }
}

/// Reads what [`EncodedWords`] wrote.
#[derive(Debug, Clone, Default)]
pub(crate) struct EncodedTokenizer {
    token: Token,
}

impl Tokenizer for EncodedTokenizer {
    type TokenStream<'a> = EncodedStream<'a>;

    fn token_stream<'a>(&'a mut self, text: &'a str) -> EncodedStream<'a> {
        self.token.reset();
        let prefix_len = text.find(SCOPE_END).map_or(0, |end| end + SCOPE_END.len_utf8());
        let (prefix, words) = text.split_at(prefix_len);
        self.token.text.push_str(prefix);
        EncodedStream { token: &mut self.token, words, prefix_len }
    }
}

/// The tokens of one encoded text.
pub(crate) struct EncodedStream<'a> {
    token: &'a mut Token,
    words: &'a str,
    prefix_len: usize,
}

impl TokenStream for EncodedStream<'_> {
    fn advance(&mut self) -> bool {
        let mut characters = self.words.chars();
        let step = match characters.next() {
            None => return false,
            Some(SAME) => 0,
            Some(GAP) => 2,
            Some(_) => 1,
        };
        let rest = characters.as_str();
        let end = rest.find([NEXT, SAME, GAP]).unwrap_or(rest.len());
        // The first token steps from "before the beginning", which tantivy writes as the largest number.
        self.token.position = self.token.position.wrapping_add(step);
        self.token.text.truncate(self.prefix_len);
        self.token.text.push_str(&rest[..end]);
        self.words = &rest[end..];
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
    use super::*;

    #[test]
    fn what_is_written_is_read_back() {
        let mut words = EncodedWords::new("7.news\0");
        words.add_marker();
        words.add_text("Cats 中国");
        words.add_text("");
        words.add_text("dog");
        let encoded = words.finish().unwrap();

        let mut tokenizer = EncodedTokenizer::default();
        let mut stream = tokenizer.token_stream(&encoded);
        let mut read = Vec::new();
        while let Some(token) = stream.next() {
            read.push((token.position, token.text.strip_prefix("7.news\0").unwrap().to_owned()));
        }
        let expected = [(0, ""), (2, "cat"), (2, "cats"), (3, "中"), (3, "中国"), (4, "国"), (6, "dog")];
        assert_eq!(read, expected.map(|(position, word)| (position, word.to_owned())));
    }

    #[test]
    fn a_name_is_written_with_its_sounds_where_they_begin() {
        let mut words = EncodedWords::new("7.people\0");
        words.add_name("三 Ann李");
        let encoded = words.finish().unwrap();
        let wholes = "\u{2}=ann\u{2}=l\u{2}=li\u{2}=s\u{2}=san\u{2}=三\u{2}=三 ann 李\u{2}=李";
        let written = format!("\u{1}三\u{2}s\u{2}san\u{1}ann\u{1}李\u{2}l\u{2}li{wholes}");
        assert_eq!(encoded, format!("7.people\0{written}"));
    }

    /// How many terms there are.
    fn terms(words: EncodedWords) -> usize {
        let encoded = words.finish().unwrap();
        let mut tokenizer = EncodedTokenizer::default();
        let mut stream = tokenizer.token_stream(&encoded);
        std::iter::from_fn(|| stream.next().map(drop)).count()
    }

    /// How many terms names have beside their words.
    fn sounds_of(names: &[&str]) -> usize {
        let (mut as_names, mut as_words) = (EncodedWords::new("7.people\0"), EncodedWords::new("7.people\0"));
        for name in names {
            as_names.add_name(name);
            as_words.add_text(name);
        }
        terms(as_names) - terms(as_words)
    }

    #[test]
    fn a_document_has_so_many_sounds_whatever_its_names_are() {
        let of = |length: usize| "重单解曾仇朴".chars().cycle().take(length).collect::<String>();
        for lengths in [[16, 16, 16, 16], [84, 170, 85, 64], [17, 8, 170, 16], [8, 8, 8, 8]] {
            let names = lengths.map(of);
            let sounds = sounds_of(&names.each_ref().map(String::as_str));
            assert!((1_000..=2_000).contains(&sounds), "{lengths:?}: {sounds}");
        }
        assert_eq!(sounds_of(&[&of(16), "张三"]), sounds_of(&[&of(16)]), "none is left for the second name");
        let usual = ["张三丰", "zhang.sanfeng", "00417", "港风物流集团有限公司"];
        let each: usize = usual.iter().map(|name| sounds_of(&[name])).sum();
        assert!(sounds_of(&usual) == each && each < 700, "all of {each}");
    }

    #[test]
    fn no_word_is_no_text() {
        let mut words = EncodedWords::new("7.news\0");
        words.add_text(" …!");
        assert_eq!(words.finish(), None);
    }
}
