//! The clauses of the connector contract, as `trawl connector check` reports them.

use std::fmt::Write as _;

use serde_json::Value;

use super::{assert_current, cell};
use crate::util::program::{run, trawl};

#[tokio::test]
async fn contract_page_is_current() {
    let report =
        run(trawl(&["connector", "check", "http://127.0.0.1:9/search", "--no-auth", "--json"])).await;
    let report: Value = serde_json::from_slice(&report.stdout).unwrap();
    let mut page = String::from("| Clause | Requires | Kept by |\n|---|---|---|\n");
    for clause in report["clauses"].as_array().unwrap() {
        let text = |field: &str| cell(clause[field].as_str().unwrap());
        writeln!(page, "| `{}` | {} | {} |", text("id"), text("title"), text("expected")).unwrap();
    }
    assert_current("contract.md", &page);
}
