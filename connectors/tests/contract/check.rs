use futures::StreamExt;
use trawl_connectors::check::{Check, CheckSettings, ClauseVerdict, Decided, Finding, Report};
use trawl_connectors::{AddressRules, ApiKey, Authentication, BearerToken, DeclaredOrder, Method};

use crate::support::{HttpCaller, settings_of, timeout_of};
use crate::zoo;

/// Each check must end within its minute on a busy machine.
const AT_ONCE: usize = 2;

pub(crate) fn settings(source: &zoo::Running, method: Method) -> CheckSettings {
    let source = settings_of(source, method);
    CheckSettings { source, order: DeclaredOrder::Time, person: None, keyword: Some(zoo::KEYWORD.to_owned()) }
}

/// Each clause must be told once.
pub(crate) async fn run(settings: CheckSettings) -> Report {
    let mut urls = vec![&settings.source.url];
    if let Authentication::OAuth2Client(credentials) = &settings.source.authentication {
        urls.push(&credentials.token_url);
    }
    let rules = AddressRules::allowing(urls);
    let mut told: Vec<Decided> = Vec::new();
    let report = Check::new(settings, &rules).unwrap().run(&mut |decided| told.push(decided)).await;
    told.sort_by_key(|decided| decided.index);
    assert!(told.iter().all(|decided| decided.count == report.clauses.len()));
    let told: Vec<Finding> = told.into_iter().map(|decided| decided.finding).collect();
    assert_eq!(told, report.clauses);
    report
}

pub(crate) fn clauses_with(report: &Report, verdict: ClauseVerdict) -> Vec<&'static str> {
    report.clauses.iter().filter(|finding| finding.verdict == verdict).map(|finding| finding.id).collect()
}

#[tokio::test]
async fn reference_source_keeps_every_clause() {
    let source = zoo::start_healthy().await;
    for method in [Method::Get, Method::Post] {
        for keyword in [Some(zoo::KEYWORD.to_owned()), None] {
            let report = run(CheckSettings { keyword, ..settings(&source, method) }).await;
            let kept = clauses_with(&report, ClauseVerdict::Pass).len();
            assert_eq!(kept, report.clauses.len(), "{report:#?}");
            assert!(report.passed);
            assert!(report.latency_ms.p99 >= report.latency_ms.p50 && report.latency_ms.p50.is_some());
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn every_fault_breaks_only_its_clause() {
    let faults = futures::stream::iter(zoo::faults().into_iter().rev());
    let wrong: Vec<String> = faults
        .map(|fault| async move {
            let source = zoo::start(&fault).await;
            let mut settings = settings(&source, Method::Get);
            settings.source.timeout = timeout_of(&fault);
            let report = run(settings).await;
            let broken = clauses_with(&report, ClauseVerdict::Fail);
            (broken != [fault.clause] || report.passed).then(|| {
                let failed = report.clauses.iter().filter(|finding| finding.verdict == ClauseVerdict::Fail);
                let seen: Vec<_> =
                    failed.map(|finding| format!("{}: {}", finding.id, finding.seen)).collect();
                format!("{}: expected {}, broken: {seen:#?}", fault.name, fault.clause)
            })
        })
        .buffer_unordered(AT_ONCE)
        .filter_map(|wrong| async { wrong })
        .collect()
        .await;
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[tokio::test]
async fn fixed_credentials_are_checked_and_never_shown() {
    let source = zoo::start_healthy().await;
    let mut settings = settings(&source, Method::Get);
    let caller = HttpCaller::with(source).await;
    let token = caller.access_token();

    settings.source.authentication = Authentication::Bearer(BearerToken::new(token.into()).unwrap());
    let report = run(settings.clone()).await;
    assert!(report.passed, "{report:#?}");
    assert_eq!(clauses_with(&report, ClauseVerdict::Unknown), ["token", "auth-scope"]);
    assert!(format!("{report:?}").contains("Bearer $TOKEN") && !format!("{report:?}").contains(token));

    settings.source.authentication = Authentication::ApiKey(ApiKey::new("X-API-Key", token.into()).unwrap());
    let report = run(settings).await;
    assert_eq!(clauses_with(&report, ClauseVerdict::Fail), ["status"], "the source wants a bearer token");
    let shown = format!("{report:?}");
    assert!(shown.contains("x-api-key: $API_KEY") && !shown.contains(token), "{shown}");
}

#[tokio::test]
async fn undecidable_clause_is_unknown() {
    let source = zoo::start_healthy().await;
    let mut settings = settings(&source, Method::Get);

    settings.keyword = Some("a-word-that-nothing-matches".to_owned());
    let report = run(settings.clone()).await;
    assert!(report.passed);
    for id in ["item-id", "limit-default", "cursor-ends", "cursor-complete", "order"] {
        assert!(clauses_with(&report, ClauseVerdict::Unknown).contains(&id), "{id}");
    }

    settings.source.authentication = Authentication::None;
    let report = run(settings).await;
    assert_eq!(
        clauses_with(&report, ClauseVerdict::Fail),
        ["status"],
        "a source that wants a token is not called without"
    );
    for id in ["token", "auth-required", "auth-wrong-token", "auth-scope", "json"] {
        assert!(clauses_with(&report, ClauseVerdict::Unknown).contains(&id), "{id}");
    }
}
