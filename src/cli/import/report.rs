//! Report of an import.

use std::time::Duration;

use indicatif::HumanCount;
use serde::Serialize;

use super::console::whole_rate;
use crate::rows::row::Rejection;

const MAX_LISTED_REJECTIONS: usize = 1000;

#[derive(Debug, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct FileReport {
    pub(super) file: String,
    pub(super) read: u64,
    pub(super) sent: u64,
    pub(super) rejected: u64,
    pub(super) truncated: u64,
    /// 0 without earlier runs.
    pub(super) resumed_after: u64,
    pub(super) rejected_before: u64,
}

#[derive(Debug, Serialize)]
struct ListedRejection {
    file: String,
    #[serde(flatten)]
    rejection: Rejection,
}

#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct ImportReport {
    module: String,
    pub(super) files: Vec<FileReport>,
    read: u64,
    sent: u64,
    rejected: u64,
    seconds: f64,
    rows_per_second: u64,
    rejections: Vec<ListedRejection>,
    pub(super) error: Option<String>,
}

impl ImportReport {
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

    pub(super) fn list(&mut self, file: &str, rejection: Rejection) {
        if self.rejections.len() < MAX_LISTED_REJECTIONS {
            self.rejections.push(ListedRejection { file: file.to_owned(), rejection });
        }
    }

    pub(super) fn finish(&mut self, elapsed: Duration) {
        let sum = |count: fn(&FileReport) -> u64| self.files.iter().map(count).sum();
        let (read, sent, rejected) =
            (sum(|file| file.read), sum(|file| file.sent), sum(|file| file.rejected));
        (self.read, self.sent, self.rejected) = (read, sent, rejected);
        self.seconds = (elapsed.as_secs_f64() * 1000.0).round() / 1000.0;
        self.rows_per_second = whole_rate(read, elapsed);
    }

    /// Whether all rows were taken, in this run and before.
    pub(super) fn is_complete(&self) -> bool {
        let none_rejected = self.files.iter().all(|file| file.rejected + file.rejected_before == 0);
        self.error.is_none() && none_rejected && self.rejections.is_empty()
    }

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

pub(super) fn rejection_line(file: &str, rejection: &Rejection) -> String {
    let number = rejection.number.map(|number| format!(":{number}")).unwrap_or_default();
    let id = rejection.id.as_ref().map(|id| format!(" (id {id})")).unwrap_or_default();
    format!("{file}{number}{id}: {}", rejection.reason)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn report_has_the_documented_shape() {
        let mut report = ImportReport::new("article");
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
        report.list("a", Rejection::row(2, Some("x".to_owned()), "no"));
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
    fn list_of_rejections_is_bounded() {
        let mut report = ImportReport::new("article");
        for number in 0..2000 {
            report.list("a", Rejection::row(number, None, "no"));
        }
        assert_eq!(report.rejections.len(), MAX_LISTED_REJECTIONS);
    }

    #[test]
    fn rejected_row_is_one_line() {
        let rejection = Rejection::row(2, Some("x".to_owned()), "title: is required");
        assert_eq!(rejection_line("rows.jsonl", &rejection), "rows.jsonl:2 (id x): title: is required");
        assert_eq!(rejection_line("-", &Rejection::file("cut off")), "-: cut off");
    }
}
