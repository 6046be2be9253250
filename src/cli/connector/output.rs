//! Report of a check as text, JSON and JUnit.

use std::{collections::HashSet, fs::File, io, io::Write as _, path::Path};

use anstyle::{AnsiColor, Effects, Style};
use quick_junit::{NonSuccessKind, TestCase, TestCaseStatus, TestSuite};
use serde::Serialize;
use trawl_connectors::check::{ClauseVerdict, Finding, LatencyPercentiles, Report, Trial};

const PASS: Style = AnsiColor::Green.on_default();
const FAIL: Style = AnsiColor::Red.on_default().effects(Effects::BOLD);
const UNKNOWN: Style = AnsiColor::Yellow.on_default();
const FAINT: Style = Style::new().effects(Effects::DIMMED);

/// Characters of an answer's body that are shown.
const SHOWN_CHARACTERS: usize = 2_000;

pub(super) fn print_json(shown: &impl Serialize) -> io::Result<()> {
    let text = serde_json::to_string_pretty(shown)?;
    writeln!(io::stdout(), "{text}")
}

pub(super) fn print_trial(trial: &Trial) -> io::Result<()> {
    write_trial(trial, &mut anstream::stdout().lock())
}

fn write_trial(trial: &Trial, out: &mut impl io::Write) -> io::Result<()> {
    if !trial.curl.is_empty() {
        writeln!(out, "{FAINT}request{FAINT:#}\n  {}", trial.curl)?;
    }
    if let Some(status) = trial.status {
        let content_type = trial.content_type.as_deref().unwrap_or("no content type");
        writeln!(out, "{FAINT}answer{FAINT:#}\n  HTTP {status}, {content_type}, {} ms", trial.took_ms)?;
    }
    if let Some(body) = &trial.body {
        let shown: String = body.chars().take(SHOWN_CHARACTERS).collect();
        let more = if shown.len() < body.len() { "…" } else { "" };
        let safe = shown.replace(|character: char| character.is_control() && character != '\n', " ");
        writeln!(out, "  {}{more}", safe.trim_end().replace('\n', "\n  "))?;
    }
    writeln!(out, "{FAINT}rows{FAINT:#}")?;
    for row in &trial.rows {
        let row = serde_json::to_string(row)?;
        writeln!(out, "  {row}")?;
    }
    let total = trial.total.map_or_else(|| "unknown".to_owned(), |total| total.to_string());
    let cursor = trial.cursor.as_deref().unwrap_or("none: the last page");
    writeln!(out, "  {} rows; total: {total}; cursor: {cursor}", trial.rows.len())?;
    for fault in &trial.missing {
        let reason = fault.message.as_deref().unwrap_or("yields nothing");
        writeln!(out, "{UNKNOWN}missing{UNKNOWN:#}  {} in {} rows: it {reason}", fault.field, fault.rows)?;
    }
    for problem in &trial.problems {
        writeln!(out, "{UNKNOWN}problem{UNKNOWN:#}  {problem}")?;
    }
    if let Some(failure) = &trial.failure {
        writeln!(out, "{FAIL}failure{FAIL:#}  {failure}")?;
    }
    Ok(())
}

pub(super) fn print_text(report: &Report) -> io::Result<()> {
    write_text(report, &mut anstream::stdout().lock())
}

fn write_text(report: &Report, out: &mut impl io::Write) -> io::Result<()> {
    writeln!(out, "{} {}\n", report.method, report.url)?;
    let width = report.clauses.iter().map(|finding| finding.id.len()).max().unwrap_or_default();
    let (open, decided): (Vec<&Finding>, Vec<&Finding>) =
        report.clauses.iter().partition(|finding| finding.verdict == ClauseVerdict::Unknown);
    for finding in decided {
        write_finding(finding, width, out)?;
    }
    write_open(&open, out)?;
    let count = |verdict| report.clauses.iter().filter(|finding| finding.verdict == verdict).count();
    let (failed, unknown) = (count(ClauseVerdict::Fail), count(ClauseVerdict::Unknown));
    writeln!(
        out,
        "\n{} clauses: {} kept, {failed} broken, {unknown} undecided",
        report.clauses.len(),
        count(ClauseVerdict::Pass)
    )?;
    if let LatencyPercentiles { p50: Some(p50), p90: Some(p90), p99: Some(p99) } = report.latency_ms {
        writeln!(out, "latency: median {p50} ms, 90 % within {p90} ms, 99 % within {p99} ms")?;
    }
    let (style, verdict) = match (failed, unknown) {
        (0, 0) => (PASS, "The source keeps the contract."),
        (0, _) => (UNKNOWN, "No clause is broken, but some are undecided."),
        _ => (FAIL, "The source breaks the contract."),
    };
    writeln!(out, "{style}{verdict}{style:#}")
}

fn write_finding(finding: &Finding, width: usize, out: &mut impl io::Write) -> io::Result<()> {
    let failed = finding.verdict == ClauseVerdict::Fail;
    let (style, word) = if failed { (FAIL, "FAIL") } else { (PASS, "pass") };
    writeln!(out, "{style}{word}{style:#}  {:width$}  {}", finding.id, finding.title)?;
    if !failed {
        return Ok(());
    }
    let details = [
        ("seen", Some(finding.seen.as_str())),
        ("expected", Some(finding.expected)),
        ("repeat", finding.curl.as_deref()),
    ];
    details
        .iter()
        .filter_map(|(name, text)| text.map(|text| (name, text)))
        .try_for_each(|(name, text)| writeln!(out, "      {FAINT}{name:8}{FAINT:#}  {text}"))
}

/// Groups open clauses by reason: one failure can leave many open.
fn write_open(open: &[&Finding], out: &mut impl io::Write) -> io::Result<()> {
    let mut reasons: Vec<&str> = open.iter().map(|finding| finding.seen.as_str()).collect();
    let mut seen = HashSet::new();
    reasons.retain(|reason| seen.insert(*reason));
    for reason in reasons {
        let ids: Vec<&str> =
            open.iter().filter(|finding| finding.seen == reason).map(|finding| finding.id).collect();
        writeln!(out, "{UNKNOWN} ?  {UNKNOWN:#}  {}", ids.join(", "))?;
        writeln!(out, "      {FAINT}because {FAINT:#}  {reason}")?;
    }
    Ok(())
}

/// Undecided clauses are skipped tests.
pub(super) fn write_junit(report: &Report, path: &Path) -> Result<(), String> {
    let failed = |error: &dyn std::fmt::Display| format!("{} cannot be written: {error}", path.display());
    let mut suite = TestSuite::new("trawl connector check");
    suite.add_property(("url", report.url.as_str()));
    suite.add_property(("method", report.method));
    suite.add_test_cases(report.clauses.iter().map(test_case));
    let mut junit = quick_junit::Report::new("trawl connector check");
    junit.add_test_suite(suite);
    let file = File::create(path).map_err(|error| failed(&error))?;
    junit.serialize(file).map_err(|error| failed(&error))
}

fn test_case(finding: &Finding) -> TestCase {
    let mut status = match finding.verdict {
        ClauseVerdict::Pass => TestCaseStatus::success(),
        ClauseVerdict::Fail => TestCaseStatus::non_success(NonSuccessKind::Failure),
        ClauseVerdict::Unknown => TestCaseStatus::skipped(),
    };
    if finding.verdict != ClauseVerdict::Pass {
        status.set_message(finding.seen.as_str());
    }
    if finding.verdict == ClauseVerdict::Fail {
        let repeat = finding.curl.as_deref().unwrap_or_default();
        status.set_description(format!("seen: {}\nexpected: {}\n{repeat}", finding.seen, finding.expected));
    }
    let mut case = TestCase::new(finding.id, status);
    case.set_classname("contract").add_property(("title", finding.title));
    case
}

#[cfg(test)]
mod tests {
    use super::*;

    fn report() -> Report {
        let finding = |id, verdict, seen: &str| Finding {
            id,
            title: "A sentence",
            verdict,
            seen: seen.to_owned(),
            expected: "ten",
            curl: Some("curl -sS http://h/ --data-urlencode 'keyword=<&>'".to_owned()),
            is_beside_the_point: false,
        };
        Report {
            url: "http://h/".to_owned(),
            method: "GET",
            passed: false,
            clauses: vec![
                finding("json", ClauseVerdict::Pass, "kept"),
                finding("count", ClauseVerdict::Fail, "eleven <&>"),
                finding("cursor-ends", ClauseVerdict::Unknown, "one page"),
                finding("order", ClauseVerdict::Unknown, "one page"),
            ],
            latency_ms: LatencyPercentiles { p50: Some(1.5), p90: Some(2.0), p99: Some(3.0) },
        }
    }

    #[test]
    fn text_is_aligned_with_evidence_of_failures() {
        let mut out = anstream::StripStream::new(Vec::new());
        write_text(&report(), &mut out).unwrap();
        let text = String::from_utf8(out.into_inner()).unwrap();
        let lines: Vec<&str> = text.lines().collect();
        assert_eq!(lines[2], "pass  json         A sentence");
        assert_eq!(
            lines[3..7],
            [
                "FAIL  count        A sentence",
                "      seen      eleven <&>",
                "      expected  ten",
                "      repeat    curl -sS http://h/ --data-urlencode 'keyword=<&>'",
            ]
        );
        assert_eq!(lines[7..9], [" ?    cursor-ends, order", "      because   one page"]);
        assert!(text.contains("4 clauses: 1 kept, 1 broken, 2 undecided"));
    }

    #[test]
    fn junit_holds_failures_and_skipped_clauses() {
        let file = tempfile::NamedTempFile::new().unwrap();
        write_junit(&report(), file.path()).unwrap();
        let read = quick_junit::Report::deserialize_from_str(&std::fs::read_to_string(file.path()).unwrap())
            .unwrap();
        assert_eq!(read.test_suites[0].test_cases.len(), 4);
        let skipped = |case: &&TestCase| matches!(case.status, TestCaseStatus::Skipped { .. });
        let cases = &read.test_suites[0].test_cases;
        assert_eq!((read.test_suites[0].failures, cases.iter().filter(skipped).count()), (1, 2));
    }
}
