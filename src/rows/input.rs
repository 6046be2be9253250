//! Reads the rows of an input in bounded memory.

use std::io::{self, BufRead, BufReader, Cursor, Read};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, OnceLock};

use flate2::bufread::MultiGzDecoder;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use trawl_connectors::{count_json_values, read_json};
use url::Url;

use super::feed::{self, FeedEnd, FeedRows};
use super::format::{self, Compression, InputFormat, REQUIRED};
use super::json_records::{Elements, Lines, MAX_RECORD_BYTES, RecordOutcome};
use super::row::{PreparedRow, Rejection, Row};

/// Values of JSON in a row; each takes much more memory than its bytes.
const MAX_ROW_VALUES: usize = 100_000;

type Input = Box<dyn BufRead + Send>;

/// A [`Rejection`] without a number is the last item.
pub(crate) struct RowReader {
    records: RecordSource,
    buffer: Vec<u8>,
    ended: bool,
    has_rows: bool,
    /// Why the first record cannot be read as a row.
    unreadable: Option<Rejection>,
    position: Arc<AtomicU64>,
    end: Arc<OnceLock<ReadEnd>>,
}

/// What is known once all rows are read.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub(crate) struct ReadEnd {
    /// What was guessed or not understood in a feed.
    pub(crate) notes: Vec<String>,
    /// Whether anything was a row, even if it was refused.
    pub(crate) has_rows: bool,
    /// Whether there is nothing but white space.
    pub(crate) is_empty: bool,
}

enum RecordSource {
    Lines(Lines<Input>),
    Elements(Elements<Input>),
    Feed(Box<FeedRows>),
    Unreadable(Option<Rejection>),
}

impl RowReader {
    /// Ends with a rejection after `limit` inflated bytes.
    pub(crate) fn new(raw: impl Read + Send + 'static, limit: u64) -> Self {
        let position = Arc::new(AtomicU64::new(0));
        let counted = CountedInput { inner: raw, position: Arc::clone(&position) };
        Self::of(records(counted, limit), position)
    }

    /// Reads a feed, whose relative addresses begin at `address`.
    ///
    /// `charset` is what HTTP says of it.
    pub(crate) fn feed(document: &[u8], charset: Option<&str>, address: Option<Url>) -> Self {
        let rows = FeedRows::open(document, charset, address).map(|rows| RecordSource::Feed(Box::new(rows)));
        Self::of(rows.map_err(refused), Arc::default())
    }

    fn of(records: Result<RecordSource, Rejection>, position: Arc<AtomicU64>) -> Self {
        Self {
            records: records.unwrap_or_else(|rejection| RecordSource::Unreadable(Some(rejection))),
            buffer: Vec::new(),
            ended: false,
            has_rows: false,
            unreadable: None,
            position,
            end: Arc::default(),
        }
    }

    /// Set once all rows are read.
    pub(crate) fn end(&self) -> Arc<OnceLock<ReadEnd>> {
        Arc::clone(&self.end)
    }

    /// Converts rows; each has the bytes of input read so far.
    pub(crate) fn prepared(
        mut self,
        prepare: impl Fn(Row) -> Result<PreparedRow, Rejection>,
    ) -> impl Iterator<Item = (Result<PreparedRow, Rejection>, u64)> {
        std::iter::from_fn(move || {
            let row = self.next()?.and_then(&prepare);
            Some((row, self.position.load(Ordering::Relaxed)))
        })
    }
}

impl Iterator for RowReader {
    type Item = Result<Row, Rejection>;

    fn next(&mut self) -> Option<Self::Item> {
        if self.ended {
            return None;
        }
        let (found, number) = match &mut self.records {
            RecordSource::Lines(lines) => (lines.next_record(&mut self.buffer), lines.number()),
            RecordSource::Elements(elements) => (elements.next_record(&mut self.buffer), elements.number()),
            RecordSource::Feed(rows) => {
                if let Some(row) = rows.next() {
                    self.has_rows = true;
                    let (line, undated) = (Some(row.line), row.undated.is_some());
                    return Some(Ok(Row { number: row.number, line, fields: row.fields, undated }));
                }
                self.ended = true;
                let has_rows = self.has_rows;
                self.end.get_or_init(|| ReadEnd { notes: rows.notes(), has_rows, is_empty: false });
                return match rows.end() {
                    FeedEnd::Whole => None,
                    FeedEnd::Cut(place) => Some(Err(Rejection::file(place))),
                    FeedEnd::Refused(reason) => Some(Err(refused(reason))),
                };
            }
            RecordSource::Unreadable(rejection) => return rejection.take().map(Err),
        };
        let rejection = match found {
            Ok(RecordOutcome::Record) => {
                let row = parse(number, &self.buffer, &mut self.has_rows);
                if let (Err(rejection), false) = (&row, self.has_rows) {
                    self.unreadable.get_or_insert_with(|| rejection.clone());
                }
                return Some(row);
            }
            Ok(RecordOutcome::TooLong) => {
                self.has_rows = true;
                let reason = format!("longer than {} MiB", MAX_RECORD_BYTES / (1024 * 1024));
                return Some(Err(Rejection::row(number, None, reason)));
            }
            Ok(RecordOutcome::End) => self.unreadable.take().filter(|_| !self.has_rows).map(|first| {
                let number = first.number.unwrap_or_default();
                Rejection::file(format!("nothing is a row, as row {number}: {}; {REQUIRED}", first.reason))
            }),
            Ok(RecordOutcome::Unclosed) => Some(Rejection::file("the file ends before its array is closed")),
            Ok(RecordOutcome::Trailing) => Some(Rejection::file("text follows the end of the array")),
            Err(error) => Some(unreadable(error)),
        };
        self.ended = true;
        let is_empty =
            rejection.is_none() && !self.has_rows && matches!(self.records, RecordSource::Lines(_));
        self.end.get_or_init(|| ReadEnd { notes: Vec::new(), has_rows: self.has_rows, is_empty });
        rejection.map(Err)
    }
}

/// Reads a row; `is_row` becomes true if it is one, be it refused.
fn parse(number: u64, text: &[u8], is_row: &mut bool) -> Result<Row, Rejection> {
    let reject = |reason: String| Err(Rejection::row(number, None, reason));
    if count_json_values(text) > MAX_ROW_VALUES {
        *is_row = true;
        return reject(format!("must hold at most {MAX_ROW_VALUES} values"));
    }
    match read_json(text.trim_ascii()) {
        Ok(Value::Object(fields)) => {
            *is_row = true;
            Ok(Row { number, line: None, fields, undated: false })
        }
        Ok(_) => reject("must be a JSON object".to_owned()),
        // A line within the row would be mistaken for one of the file.
        Err(error) if error.is_data() => {
            *is_row = true;
            reject(error.to_string())
        }
        Err(error) => reject(match error.line() {
            1 => format!("malformed JSON at column {}", error.column()),
            line => format!("malformed JSON at line {line} of the row, column {}", error.column()),
        }),
    }
}

fn records(raw: impl Read + Send + 'static, limit: u64) -> Result<RecordSource, Rejection> {
    let (magic, packed) = peek(BufReader::with_capacity(format::HEAD_BYTES, raw), 4)?;
    let inflated: Input = match format::compression(&magic) {
        Compression::None => Box::new(packed),
        Compression::Gzip => {
            Box::new(BufReader::with_capacity(format::HEAD_BYTES, MultiGzDecoder::new(packed)))
        }
        Compression::Zstd => {
            let decoder = zstd::stream::read::Decoder::with_buffer(packed).map_err(unreadable)?;
            Box::new(BufReader::with_capacity(format::HEAD_BYTES, decoder))
        }
    };
    let limited = BufReader::with_capacity(format::HEAD_BYTES, LimitedInput { inner: inflated, left: limit });
    let (mut head, mut input) = peek(limited, format::HEAD_BYTES)?;
    let mark = if head.starts_with("\u{feff}".as_bytes()) { 3 } else { 0 };
    input.consume(mark);
    head.drain(..mark);
    match format::format(&head).map_err(Rejection::file)? {
        InputFormat::Lines => Ok(RecordSource::Lines(Lines::new(Box::new(input)))),
        InputFormat::Array => Ok(RecordSource::Elements(Elements::new(Box::new(input)))),
        InputFormat::Feed => {
            let mut text = Vec::new();
            input.take(feed::MAX_FEED_BYTES as u64 + 1).read_to_end(&mut text).map_err(unreadable)?;
            if text.len() > feed::MAX_FEED_BYTES {
                let most = feed::MAX_FEED_BYTES / (1024 * 1024);
                return Err(Rejection::file(format!("a feed must be at most {most} MiB")));
            }
            let rows = FeedRows::open(&text, None, None)
                .map_err(|reason| Rejection::file(format!("must be an RSS, Atom or JSON feed: {reason}")))?;
            Ok(RecordSource::Feed(Box::new(rows)))
        }
    }
}

fn peek<R: BufRead>(mut input: R, bytes: usize) -> Result<(Vec<u8>, impl BufRead + use<R>), Rejection> {
    let mut head = Vec::with_capacity(bytes);
    (&mut input).take(bytes as u64).read_to_end(&mut head).map_err(unreadable)?;
    Ok((head.clone(), Cursor::new(head).chain(input)))
}

#[expect(clippy::needless_pass_by_value, reason = "it stands in map_err")]
fn refused(reason: String) -> Rejection {
    Rejection::file(format!("the feed cannot be read: {reason}"))
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
        RowReader::new(Cursor::new(bytes), u64::MAX).collect()
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
    fn row_of_too_many_values_is_rejected_alone() {
        let many = format!("{{\"id\":\"b\",\"x\":[{}1]}}", "1,".repeat(MAX_ROW_VALUES));
        let rows = read(format!("{{\"id\":\"a\"}}\n{many}\n{{\"id\":\"c\"}}").into());
        assert!(rows[0].is_ok() && rows[2].is_ok());
        assert_eq!(rows[1], Err(Rejection::row(2, None, "must hold at most 100000 values")));
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
        let rows: Vec<_> = RowReader::new(Cursor::new(bomb), 500_000).collect();
        let (last, before) = rows.split_last().unwrap();
        assert!((1_000..100_000).contains(&before.len()) && before.iter().all(Result::is_ok));
        let Rejection { number, reason, .. } = last.as_ref().unwrap_err();
        assert_eq!((*number, reason.ends_with("inflates to too many bytes")), (None, true), "{reason}");
    }

    #[test]
    fn file_without_a_row_ends_with_what_would_be_right() {
        for (text, records) in [
            ("id,title\n1,quay\n", 2),
            ("{\n  \"id\": \"1\",\n  \"title\": \"quay\"\n}", 4),
            ("[1, \"a\"]", 2),
        ] {
            let reader = RowReader::new(Cursor::new(text), u64::MAX);
            let end = reader.end();
            let rows: Vec<_> = reader.collect();
            let (last, before) = rows.split_last().unwrap();
            let Rejection { number, reason, .. } = last.as_ref().unwrap_err();
            assert!(number.is_none() && reason.contains("as row 1") && reason.contains(REQUIRED), "{reason}");
            assert_eq!((before.len(), end.get().unwrap().has_rows), (records, false));
        }
        for (text, is_empty) in
            [(" \n\u{feff}", false), ("\u{feff} \n", true), ("", true), ("[]", false), ("{}", false)]
        {
            let mut reader = RowReader::new(Cursor::new(text), u64::MAX);
            let end = reader.end();
            reader.by_ref().count();
            assert_eq!(end.get().unwrap().is_empty, is_empty, "{text:?}");
        }
    }

    #[test]
    fn unreadable_input_is_rejected() {
        for bytes in [
            &b"<html></html>"[..],
            b"\xff\xfe{\0}\0",
            b"\x28\xb5\x2f\xfdgarbage",
            b"\x1f\x8bgarbage",
            b"PK\x03\x04\x14\0",
        ] {
            let rows = read(bytes.to_vec());
            assert!(matches!(rows[..], [Err(Rejection { number: None, .. })]), "{bytes:?}");
        }
    }
}
