//! Reads the rows of an input in bounded memory.

use std::io::{self, BufRead, BufReader, Cursor, Read};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use flate2::bufread::MultiGzDecoder;
use serde_json::{Map, Value};

use super::feed;
use super::format::{self, Compression, InputFormat};
use super::json_records::{Elements, Lines, MAX_RECORD_BYTES, RecordOutcome};
use super::row::{Rejection, Row};

type Input = Box<dyn BufRead + Send>;

/// A [`Rejection`] without a number is the last item.
pub(crate) struct RowReader {
    records: RecordSource,
    buffer: Vec<u8>,
    ended: bool,
    position: Arc<AtomicU64>,
}

enum RecordSource {
    Lines(Lines<Input>),
    Elements(Elements<Input>),
    FeedEntries(FeedEntries),
}

impl RowReader {
    pub(crate) fn new(raw: Box<dyn Read + Send>) -> Result<Self, Rejection> {
        Self::with_limit(raw, u64::MAX)
    }

    /// Ends with a rejection after this number of inflated bytes.
    pub(crate) fn with_limit(raw: Box<dyn Read + Send>, inflated: u64) -> Result<Self, Rejection> {
        let position = Arc::new(AtomicU64::new(0));
        let counted = CountedInput { inner: raw, position: Arc::clone(&position) };
        let records = records(counted, inflated).map_err(unreadable)??;
        Ok(Self { records, buffer: Vec::new(), ended: false, position })
    }

    pub(crate) fn position(&self) -> u64 {
        self.position.load(Ordering::Relaxed)
    }

    /// Skips rows without parsing them.
    pub(crate) fn skip_through(&mut self, number: u64) -> Result<(), Rejection> {
        while !self.ended && self.records.number() < number {
            self.advance()?;
        }
        Ok(())
    }

    fn advance(&mut self) -> Result<Option<bool>, Rejection> {
        let found = match &mut self.records {
            RecordSource::Lines(lines) => lines.next_record(&mut self.buffer),
            RecordSource::Elements(elements) => elements.next_record(&mut self.buffer),
            RecordSource::FeedEntries(entries) => Ok(entries.next_entry()),
        };
        let reason = match found {
            Ok(RecordOutcome::Record) => return Ok(Some(true)),
            Ok(RecordOutcome::TooLong) => return Ok(Some(false)),
            Ok(RecordOutcome::End) => {
                self.ended = true;
                return Ok(None);
            }
            Ok(RecordOutcome::Unclosed) => Rejection::file("the file ends before its array is closed"),
            Ok(RecordOutcome::Trailing) => Rejection::file("text follows the end of the array"),
            Err(error) => unreadable(error),
        };
        self.ended = true;
        Err(reason)
    }

    fn parse(&mut self) -> Result<Row, Rejection> {
        let number = self.records.number();
        match &mut self.records {
            RecordSource::FeedEntries(entries) => {
                Ok(Row { number, fields: std::mem::take(&mut entries.current) })
            }
            RecordSource::Lines(_) | RecordSource::Elements(_) => parse(number, &self.buffer),
        }
    }
}

impl Iterator for RowReader {
    type Item = Result<Row, Rejection>;

    fn next(&mut self) -> Option<Self::Item> {
        if self.ended {
            return None;
        }
        match self.advance() {
            Ok(Some(true)) => Some(self.parse()),
            Ok(Some(false)) => {
                let reason = format!("longer than {} MiB", MAX_RECORD_BYTES / (1024 * 1024));
                Some(Err(Rejection::row(self.records.number(), None, reason)))
            }
            Ok(None) => None,
            Err(rejection) => Some(Err(rejection)),
        }
    }
}

impl RecordSource {
    fn number(&self) -> u64 {
        match self {
            Self::Lines(lines) => lines.number(),
            Self::Elements(elements) => elements.number(),
            Self::FeedEntries(entries) => entries.number,
        }
    }
}

struct FeedEntries {
    left: std::vec::IntoIter<Map<String, Value>>,
    current: Map<String, Value>,
    number: u64,
}

impl FeedEntries {
    fn next_entry(&mut self) -> RecordOutcome {
        match self.left.next() {
            Some(entry) => {
                self.current = entry;
                self.number += 1;
                RecordOutcome::Record
            }
            None => RecordOutcome::End,
        }
    }
}

fn parse(number: u64, text: &[u8]) -> Result<Row, Rejection> {
    let reject = |reason: String| Err(Rejection::row(number, None, reason));
    match serde_json::from_slice(text.trim_ascii()) {
        Ok(Value::Object(fields)) => Ok(Row { number, fields }),
        Ok(_) => reject("must be a JSON object".to_owned()),
        // A line within the row would be mistaken for one of the file.
        Err(error) => reject(match error.line() {
            1 => format!("malformed JSON at column {}", error.column()),
            line => format!("malformed JSON at line {line} of the row, column {}", error.column()),
        }),
    }
}

fn records(raw: impl Read + Send + 'static, most: u64) -> io::Result<Result<RecordSource, Rejection>> {
    let (magic, packed) = peek(BufReader::with_capacity(format::HEAD_BYTES, raw), 4)?;
    let inflated: Input = match format::compression(&magic) {
        Compression::None => Box::new(packed),
        Compression::Gzip => {
            Box::new(BufReader::with_capacity(format::HEAD_BYTES, MultiGzDecoder::new(packed)))
        }
        Compression::Zstd => {
            let decoder = zstd::stream::read::Decoder::with_buffer(packed)?;
            Box::new(BufReader::with_capacity(format::HEAD_BYTES, decoder))
        }
    };
    let limited = BufReader::with_capacity(format::HEAD_BYTES, LimitedInput { inner: inflated, left: most });
    let (mut head, mut input) = peek(limited, format::HEAD_BYTES)?;
    let mark = format::byte_order_mark(&head);
    input.consume(mark);
    head.drain(..mark);
    Ok(match format::format(&head) {
        Ok(InputFormat::Lines) => Ok(RecordSource::Lines(Lines::new(Box::new(input)))),
        Ok(InputFormat::Array) => Ok(RecordSource::Elements(Elements::new(Box::new(input)))),
        Ok(InputFormat::Feed) => {
            let mut text = Vec::new();
            input.take(feed::MAX_FEED_BYTES as u64 + 1).read_to_end(&mut text)?;
            if text.len() > feed::MAX_FEED_BYTES {
                let most = feed::MAX_FEED_BYTES / (1024 * 1024);
                return Ok(Err(Rejection::file(format!("a feed must be at most {most} MiB"))));
            }
            feed::rows(&text, None)
                .map(|rows| {
                    RecordSource::FeedEntries(FeedEntries {
                        left: rows.into_iter(),
                        current: Map::new(),
                        number: 0,
                    })
                })
                .map_err(|_| Rejection::file("must be a valid RSS, Atom or JSON feed"))
        }
        Err(reason) => Err(Rejection::file(reason)),
    })
}

fn peek<R: BufRead>(mut input: R, bytes: usize) -> io::Result<(Vec<u8>, impl BufRead + use<R>)> {
    let mut head = Vec::with_capacity(bytes);
    (&mut input).take(bytes as u64).read_to_end(&mut head)?;
    Ok((head.clone(), Cursor::new(head).chain(input)))
}

#[expect(clippy::needless_pass_by_value, reason = "it stands in map_err")]
fn unreadable(error: io::Error) -> Rejection {
    Rejection::file(format!("reading stopped: {error}"))
}

struct CountedInput<R> {
    inner: R,
    position: Arc<AtomicU64>,
}

impl<R: Read> Read for CountedInput<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let read = self.inner.read(buffer)?;
        self.position.fetch_add(read as u64, Ordering::Relaxed);
        Ok(read)
    }
}

/// Fails where its input goes on after the limit.
struct LimitedInput<R> {
    inner: R,
    left: u64,
}

impl<R: Read> Read for LimitedInput<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let read = self.inner.read(buffer)?;
        self.left = self.left.checked_sub(read as u64).ok_or_else(|| {
            io::Error::new(io::ErrorKind::FileTooLarge, "the file inflates to too many bytes")
        })?;
        Ok(read)
    }
}

#[cfg(test)]
mod tests {
    use std::io::Write;

    use super::*;

    fn read(bytes: Vec<u8>) -> Vec<Result<Row, Rejection>> {
        RowReader::new(Box::new(Cursor::new(bytes))).unwrap().collect()
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
    fn compressed_and_plain_inputs_read_alike() {
        let expected = [(1, "a".to_owned()), (3, "b".to_owned())];
        assert_eq!(ids(LINES.into()), expected);
        assert_eq!(ids(zstd::encode_all(LINES.as_bytes(), 1).unwrap()), expected);
        let mut gzip = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
        gzip.write_all(LINES.as_bytes()).unwrap();
        let gzip = gzip.finish().unwrap();
        assert_eq!(ids(gzip.clone()), expected);
        // Concatenated members are one file (RFC 1952).
        let mut gzip_again = flate2::write::GzEncoder::new(gzip, flate2::Compression::fast());
        gzip_again.write_all(b"\n{\"id\":\"c\"}").unwrap();
        assert_eq!(ids(gzip_again.finish().unwrap()).len(), 3);
    }

    #[test]
    fn array_reads_like_lines() {
        assert_eq!(
            ids("[{\"id\":\"a\"},\n{\"id\":\"b\"}]".into()),
            [(1, "a".to_owned()), (2, "b".to_owned())]
        );
    }

    #[test]
    fn broken_row_is_rejected_by_number_and_reading_continues() {
        let rows = read("{\"id\":\"a\"}\n{\"id\":\n[1]\n{\"id\":\"b\"}".into());
        assert!(rows[0].is_ok() && rows[3].is_ok());
        let reason = |index: usize| rows[index].as_ref().unwrap_err().clone();
        assert_eq!(reason(1).number, Some(2));
        assert_eq!(reason(1).reason, "malformed JSON at column 6");
        assert_eq!(reason(2), Rejection::row(3, None, "must be a JSON object"));
    }

    #[test]
    fn damaged_file_ends_with_a_reason_after_its_rows() {
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
    fn file_that_inflates_beyond_the_limit_ends_with_a_reason() {
        let bomb = zstd::encode_all(&b"{\"id\":\"a\"}\n".repeat(100_000)[..], 1).unwrap();
        let rows: Vec<_> = RowReader::with_limit(Box::new(Cursor::new(bomb)), 500_000).unwrap().collect();
        let (last, before) = rows.split_last().unwrap();
        assert!((1_000..100_000).contains(&before.len()) && before.iter().all(Result::is_ok));
        let Rejection { number, reason, .. } = last.as_ref().unwrap_err();
        assert_eq!((*number, reason.ends_with("inflates to too many bytes")), (None, true), "{reason}");
    }

    #[test]
    fn rows_can_be_skipped() {
        for text in [
            "{\"id\":\"a\"}\n{\"id\":\"b\"}\n{\"id\":\"c\"}",
            "[{\"id\":\"a\"},{\"id\":\"b\"},{\"id\":\"c\"}]",
        ] {
            for (skipped, left) in [(0, 3), (2, 1), (3, 0), (9, 0)] {
                let mut reader = RowReader::new(Box::new(text.as_bytes())).unwrap();
                reader.skip_through(skipped).unwrap();
                assert_eq!(reader.count(), left, "{text} after {skipped}");
            }
        }
    }

    #[test]
    fn unreadable_input_is_rejected() {
        for bytes in
            [&b"<html></html>"[..], b"\xff\xfe{\0}\0", b"\x28\xb5\x2f\xfdgarbage", b"\x1f\x8bgarbage"]
        {
            let rejection = RowReader::new(Box::new(bytes)).err().unwrap();
            assert_eq!(rejection.number, None, "{bytes:?}");
        }
    }
}
