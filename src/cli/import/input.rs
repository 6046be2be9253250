//! Opens an input, inflates it, tells its format and gives its rows one by one, in bounded memory.

use std::fs::File;
use std::io::{self, BufRead, BufReader, Cursor, Read};
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use flate2::bufread::MultiGzDecoder;
use serde_json::{Map, Value};

use super::feed;
use super::records::{Elements, Found, LONGEST_RECORD, Lines};
use super::row::{Rejection, Row};
use super::sniff::{self, Compression, Format};

/// The name that stands for standard input.
pub(super) const STANDARD_INPUT: &str = "-";

type Input = Box<dyn BufRead + Send>;

/// The rows of one input. After a [`Rejection`] without a number there are no more.
pub(super) struct Reader {
    records: Records,
    buffer: Vec<u8>,
    ended: bool,
    position: Arc<AtomicU64>,
}

enum Records {
    Lines(Lines<Input>),
    Elements(Elements<Input>),
    Entries(Entries),
}

/// Opens a file, or standard input for `-`.
pub(super) fn open(path: &Path) -> io::Result<Box<dyn Read + Send>> {
    if path.as_os_str() == STANDARD_INPUT {
        Ok(Box::new(io::stdin()))
    } else {
        Ok(Box::new(File::open(path)?))
    }
}

impl Reader {
    /// Begins to read. The error says why this input cannot be read at all.
    pub(super) fn new(raw: Box<dyn Read + Send>) -> Result<Self, Rejection> {
        let position = Arc::new(AtomicU64::new(0));
        let counted = Counted { inner: raw, position: Arc::clone(&position) };
        let records = records(counted).map_err(unreadable)??;
        Ok(Self { records, buffer: Vec::new(), ended: false, position })
    }

    /// How many bytes of the input, as it is packed, have been taken so far.
    pub(super) fn position(&self) -> u64 {
        self.position.load(Ordering::Relaxed)
    }

    /// Passes over the rows up to this number, without parsing them.
    pub(super) fn skip_through(&mut self, number: u64) -> Result<(), Rejection> {
        while !self.ended && self.records.number() < number {
            self.advance()?;
        }
        Ok(())
    }

    /// Goes on to the next raw row, if there is one; whether it was short enough to be kept whole.
    fn advance(&mut self) -> Result<Option<bool>, Rejection> {
        let found = match &mut self.records {
            Records::Lines(lines) => lines.next_record(&mut self.buffer),
            Records::Elements(elements) => elements.next_record(&mut self.buffer),
            Records::Entries(entries) => Ok(entries.next_entry()),
        };
        let reason = match found {
            Ok(Found::Record) => return Ok(Some(true)),
            Ok(Found::TooLong) => return Ok(Some(false)),
            Ok(Found::End) => {
                self.ended = true;
                return Ok(None);
            }
            Ok(Found::Unclosed) => Rejection::of_file("the file ends before its array is closed"),
            Ok(Found::Trailing) => Rejection::of_file("text behind the end of the array is not read"),
            Err(error) => unreadable(error),
        };
        self.ended = true;
        Err(reason)
    }

    /// The row that `advance` found.
    fn parse(&mut self) -> Result<Row, Rejection> {
        let number = self.records.number();
        match &mut self.records {
            Records::Entries(entries) => Ok(Row { number, fields: std::mem::take(&mut entries.current) }),
            Records::Lines(_) | Records::Elements(_) => parse(number, &self.buffer),
        }
    }
}

impl Iterator for Reader {
    type Item = Result<Row, Rejection>;

    fn next(&mut self) -> Option<Self::Item> {
        if self.ended {
            return None;
        }
        match self.advance() {
            Ok(Some(true)) => Some(self.parse()),
            Ok(Some(false)) => {
                let reason = format!("longer than {} MiB", LONGEST_RECORD / (1024 * 1024));
                Some(Err(Rejection::of_row(self.records.number(), None, reason)))
            }
            Ok(None) => None,
            Err(rejection) => Some(Err(rejection)),
        }
    }
}

impl Records {
    /// The number, from 1, of the row found last.
    fn number(&self) -> u64 {
        match self {
            Self::Lines(lines) => lines.number(),
            Self::Elements(elements) => elements.number(),
            Self::Entries(entries) => entries.number,
        }
    }
}

/// The entries of a feed.
struct Entries {
    left: std::vec::IntoIter<Map<String, Value>>,
    current: Map<String, Value>,
    number: u64,
}

impl Entries {
    fn next_entry(&mut self) -> Found {
        match self.left.next() {
            Some(entry) => {
                self.current = entry;
                self.number += 1;
                Found::Record
            }
            None => Found::End,
        }
    }
}

/// One row's text as its fields.
fn parse(number: u64, text: &[u8]) -> Result<Row, Rejection> {
    let reject = |reason: String| Err(Rejection::of_row(number, None, reason));
    match serde_json::from_slice(text.trim_ascii()) {
        Ok(Value::Object(fields)) => Ok(Row { number, fields }),
        Ok(_) => reject("not a JSON object".to_owned()),
        Err(error) => {
            let text = error.to_string();
            let what = text.split_once(" at line ").map_or(text.as_str(), |(what, _)| what);
            // The line is one inside the row, and beside the row's number would be taken for one of the file.
            let place = match error.line() {
                1 => format!("column {}", error.column()),
                line => format!("line {line} of the row, column {}", error.column()),
            };
            reject(format!("not valid JSON: {what} ({place})"))
        }
    }
}

fn records(raw: impl Read + Send + 'static) -> io::Result<Result<Records, Rejection>> {
    let (magic, packed) = peek(BufReader::with_capacity(sniff::HEAD_BYTES, raw), 4)?;
    let inflated: Input = match sniff::compression(&magic) {
        Compression::None => Box::new(packed),
        Compression::Gzip => {
            Box::new(BufReader::with_capacity(sniff::HEAD_BYTES, MultiGzDecoder::new(packed)))
        }
        Compression::Zstd => {
            let decoder = zstd::stream::read::Decoder::with_buffer(packed)?;
            Box::new(BufReader::with_capacity(sniff::HEAD_BYTES, decoder))
        }
    };
    let (mut head, mut input) = peek(inflated, sniff::HEAD_BYTES)?;
    let mark = sniff::byte_order_mark(&head);
    input.consume(mark);
    head.drain(..mark);
    Ok(match sniff::format(&head) {
        Ok(Format::Lines) => Ok(Records::Lines(Lines::new(Box::new(input)))),
        Ok(Format::Array) => Ok(Records::Elements(Elements::new(Box::new(input)))),
        Ok(Format::Feed) => {
            let mut text = Vec::new();
            input.take(feed::LARGEST_FEED as u64 + 1).read_to_end(&mut text)?;
            if text.len() > feed::LARGEST_FEED {
                let most = feed::LARGEST_FEED / (1024 * 1024);
                return Ok(Err(Rejection::of_file(format!("a feed of more than {most} MiB is not read"))));
            }
            feed::rows(&text)
                .map(|rows| {
                    Records::Entries(Entries { left: rows.into_iter(), current: Map::new(), number: 0 })
                })
                .map_err(|error| Rejection::of_file(format!("not a feed that can be read: {error}")))
        }
        Err(reason) => Err(Rejection::of_file(reason)),
    })
}

/// Looks at the first bytes of an input; what is given back has them still.
fn peek<R: BufRead>(mut input: R, bytes: usize) -> io::Result<(Vec<u8>, impl BufRead + use<R>)> {
    let mut head = Vec::with_capacity(bytes);
    (&mut input).take(bytes as u64).read_to_end(&mut head)?;
    Ok((head.clone(), Cursor::new(head).chain(input)))
}

#[expect(clippy::needless_pass_by_value, reason = "it stands in map_err")]
fn unreadable(error: io::Error) -> Rejection {
    Rejection::of_file(format!("reading stopped: {error}"))
}

/// Counts what is read, for the progress by bytes.
struct Counted<R> {
    inner: R,
    position: Arc<AtomicU64>,
}

impl<R: Read> Read for Counted<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let read = self.inner.read(buffer)?;
        self.position.fetch_add(read as u64, Ordering::Relaxed);
        Ok(read)
    }
}

#[cfg(test)]
mod tests {
    use std::io::Write;

    use super::*;

    fn read(bytes: Vec<u8>) -> Vec<Result<Row, Rejection>> {
        Reader::new(Box::new(Cursor::new(bytes))).unwrap().collect()
    }

    fn ids(bytes: Vec<u8>) -> Vec<(u64, String)> {
        let row = |row: Result<Row, Rejection>| {
            let row = row.unwrap();
            (row.number, row.fields["id"].as_str().unwrap().to_owned())
        };
        read(bytes).into_iter().map(row).collect()
    }

    const LINES: &str = "\u{feff}{\"id\":\"a\"}\n\n{\"id\":\"b\"}";

    #[test]
    fn packed_and_plain_inputs_read_alike() {
        let expected = [(1, "a".to_owned()), (3, "b".to_owned())];
        assert_eq!(ids(LINES.into()), expected);
        assert_eq!(ids(zstd::encode_all(LINES.as_bytes(), 1).unwrap()), expected);
        let mut gzip = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
        gzip.write_all(LINES.as_bytes()).unwrap();
        let gzip = gzip.finish().unwrap();
        assert_eq!(ids(gzip.clone()), expected);
        // Two members one behind the other are one file (RFC 1952).
        let mut gzip_again = flate2::write::GzEncoder::new(gzip, flate2::Compression::fast());
        gzip_again.write_all(b"\n{\"id\":\"c\"}").unwrap();
        assert_eq!(ids(gzip_again.finish().unwrap()).len(), 3);
    }

    #[test]
    fn an_array_reads_like_lines() {
        assert_eq!(
            ids("[{\"id\":\"a\"},\n{\"id\":\"b\"}]".into()),
            [(1, "a".to_owned()), (2, "b".to_owned())]
        );
    }

    #[test]
    fn a_broken_row_is_rejected_by_number_and_reading_goes_on() {
        let rows = read("{\"id\":\"a\"}\n{\"id\":\n[1]\n{\"id\":\"b\"}".into());
        assert!(rows[0].is_ok() && rows[3].is_ok());
        let reason = |index: usize| rows[index].as_ref().unwrap_err().clone();
        assert_eq!(reason(1).number, Some(2));
        assert_eq!(reason(1).reason, "not valid JSON: EOF while parsing a value (column 6)");
        assert_eq!(reason(2), Rejection::of_row(3, None, "not a JSON object"));
    }

    #[test]
    fn a_damaged_file_ends_with_a_reason_and_keeps_what_came_before() {
        let lines: Vec<String> = (0..50_000).map(|number| format!("{{\"id\":\"{number}\"}}")).collect();
        let mut packed = zstd::encode_all(lines.join("\n").as_bytes(), 1).unwrap();
        packed.truncate(packed.len() / 2);
        let rows = read(packed);
        let (last, before) = rows.split_last().unwrap();
        assert!(before.len() > 1000);
        assert_eq!(last.as_ref().unwrap_err().number, None);
        assert!(last.as_ref().unwrap_err().reason.starts_with("reading stopped"));
    }

    #[test]
    fn rows_can_be_passed_over() {
        for text in [
            "{\"id\":\"a\"}\n{\"id\":\"b\"}\n{\"id\":\"c\"}",
            "[{\"id\":\"a\"},{\"id\":\"b\"},{\"id\":\"c\"}]",
        ] {
            for (skipped, left) in [(0, 3), (2, 1), (3, 0), (9, 0)] {
                let mut reader = Reader::new(Box::new(text.as_bytes())).unwrap();
                reader.skip_through(skipped).unwrap();
                assert_eq!(reader.count(), left, "{text} after {skipped}");
            }
        }
    }

    #[test]
    fn what_cannot_be_read_at_all_says_so() {
        for bytes in
            [&b"<html></html>"[..], b"\xff\xfe{\0}\0", b"\x28\xb5\x2f\xfdgarbage", b"\x1f\x8bgarbage"]
        {
            let rejection = Reader::new(Box::new(bytes)).err().unwrap();
            assert_eq!(rejection.number, None, "{bytes:?}");
        }
    }
}
