//! What an import came to: counts by file, the rejected rows, and the words for both people and programs.

use std::time::Duration;

use indicatif::HumanCount;
use serde::Serialize;

use super::console::whole_rate;
use super::row::Rejection;

/// How many rejected rows the report lists; all are counted, and all are shown while they come.
const LISTED_REJECTIONS: usize = 1000;

/// One input's counts in this run. Where nothing stopped it, `read` is `sent` and `rejected` together.
#[derive(Debug, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct FileReport {
    /// The name as given.
    pub(super) file: String,
    /// Rows read whose fate is known.
    pub(super) read: u64,
    /// Rows that the server took.
    pub(super) sent: u64,
    /// Rows rejected, here or by the server.
    pub(super) rejected: u64,
    /// Rows whose text was cut.
    pub(super) truncated: u64,
    /// The row up to which an earlier run had come; 0 for the beginning.
    pub(super) resumed_after: u64,
    /// How many rows the earlier runs rejected.
    pub(super) rejected_before: u64,
}

#[derive(Debug, Serialize)]
struct ListedRejection {
    file: String,
    #[serde(flatten)]
    rejection: Rejection,
}

/// The whole import, as `--json` prints it.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Report {
    module: String,
    pub(super) files: Vec<FileReport>,
    read: u64,
    sent: u64,
    rejected: u64,
    seconds: f64,
    rows_per_second: u64,
    rejections: Vec<ListedRejection>,
    /// Why it stopped before the end; null if it did not.
    pub(super) error: Option<String>,
}

impl Report {
    pub(super) fn new(module: &str) -> Self {
        Self {
            module: module.to_owned(),
            files: Vec::new(),
            read: 0,
            sent: 0,
            rejected: 0,
            seconds: 0.0,
            rows_per_second: 0,
            rejections: Vec::new(),
            error: None,
        }
    }

    /// Lists a rejected row, while there is room.
    pub(super) fn list(&mut self, file: &str, rejection: Rejection) {
        if self.rejections.len() < LISTED_REJECTIONS {
            self.rejections.push(ListedRejection { file: file.to_owned(), rejection });
        }
    }

    /// Adds up the files.
    pub(super) fn finish(&mut self, elapsed: Duration) {
        let sum = |count: fn(&FileReport) -> u64| self.files.iter().map(count).sum();
        let (read, sent, rejected) =
            (sum(|file| file.read), sum(|file| file.sent), sum(|file| file.rejected));
        (self.read, self.sent, self.rejected) = (read, sent, rejected);
        self.seconds = (elapsed.as_secs_f64() * 1000.0).round() / 1000.0;
        self.rows_per_second = whole_rate(read, elapsed);
    }

    /// Whether every row of every file has been taken, in this run and those before it.
    pub(super) fn is_complete(&self) -> bool {
        let none_rejected = self.files.iter().all(|file| file.rejected + file.rejected_before == 0);
        self.error.is_none() && none_rejected && self.rejections.is_empty()
    }

    /// One line for a person.
    pub(super) fn summary(&self) -> String {
        let truncated: u64 = self.files.iter().map(|file| file.truncated).sum();
        let truncated = match truncated {
            0 => String::new(),
            rows => format!("; {} with their text cut", HumanCount(rows)),
        };
        format!(
            "{} rows read, {} sent, {} rejected in {:.1} s ({} rows/s){truncated}",
            HumanCount(self.read),
            HumanCount(self.sent),
            HumanCount(self.rejected),
            self.seconds,
            HumanCount(self.rows_per_second),
        )
    }
}

/// A rejected row as a line for a person.
pub(super) fn line_of(file: &str, rejection: &Rejection) -> String {
    let number = rejection.number.map(|number| format!(":{number}")).unwrap_or_default();
    let id = rejection.id.as_ref().map(|id| format!(" (id {id})")).unwrap_or_default();
    format!("{file}{number}{id}: {}", rejection.reason)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_report_has_the_documented_shape() {
        let mut report = Report::new("article");
        report.files.push(FileReport {
            file: "a".to_owned(),
            read: 3,
            sent: 2,
            rejected: 1,
            ..FileReport::default()
        });
        report.files.push(FileReport {
            file: "b".to_owned(),
            read: 5,
            sent: 5,
            truncated: 1,
            ..FileReport::default()
        });
        report.list("a", Rejection::of_row(2, Some("x".to_owned()), "no"));
        report.finish(Duration::from_secs(2));
        assert_eq!(
            serde_json::to_value(&report).unwrap(),
            serde_json::json!({
                "module": "article", "read": 8, "sent": 7, "rejected": 1, "seconds": 2.0, "rowsPerSecond": 4,
                "files": [
                    {"file": "a", "read": 3, "sent": 2, "rejected": 1, "truncated": 0, "resumedAfter": 0,
                     "rejectedBefore": 0},
                    {"file": "b", "read": 5, "sent": 5, "rejected": 0, "truncated": 1, "resumedAfter": 0,
                     "rejectedBefore": 0},
                ],
                "rejections": [{"file": "a", "line": 2, "id": "x", "reason": "no"}],
                "error": null,
            })
        );
        assert_eq!(
            report.summary(),
            "8 rows read, 7 sent, 1 rejected in 2.0 s (4 rows/s); 1 with their text cut"
        );
        assert!(!report.is_complete());
    }

    #[test]
    fn the_list_of_rejections_is_bounded() {
        let mut report = Report::new("article");
        for number in 0..2000 {
            report.list("a", Rejection::of_row(number, None, "no"));
        }
        assert_eq!(report.rejections.len(), LISTED_REJECTIONS);
    }

    #[test]
    fn a_rejected_row_is_one_line() {
        let rejection = Rejection::of_row(2, Some("x".to_owned()), "no `title`");
        assert_eq!(line_of("rows.jsonl", &rejection), "rows.jsonl:2 (id x): no `title`");
        assert_eq!(line_of("-", &Rejection::of_file("cut off")), "-: cut off");
    }
}
