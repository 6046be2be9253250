//! Documents of people: making, indexing, freshness.

#![allow(clippy::unwrap_used, missing_docs, reason = "a bench ends where something goes wrong")]

#[path = "common/report.rs"]
mod report;

use std::time::Instant;

use tempfile::TempDir;
use trawl::{
    auth::tenants,
    config::Config,
    indexer::Indexer,
    platform::users::documents::{PEOPLE, scan},
    replicas::{Replicas, SharedSettings},
    store::{Store, Value, sql},
};
use trawl_engine::{Change, Checkpoint, Document};
use trawl_index::{Index, Options};

use self::report::{Report, millis};

const DEPARTMENTS: usize = 5_000;
const CALL: usize = 10_000;
const ROWS: u64 = 1_000;
/// As in the indexer.
const INDEX_BATCH: usize = 500;
const ADDRESS: &str = "https://trawl.example";

const SURNAMES: [&str; 16] = [
    "王",
    "李",
    "张",
    "刘",
    "陈",
    "杨",
    "赵",
    "黄",
    "周",
    "吴",
    "单",
    "曾",
    "欧阳",
    "O'Brien ",
    "Meyer ",
    "Jean-Luc ",
];
const GIVEN: [char; 24] = [
    '伟', '芳', '娜', '敏', '静', '丽', '强', '磊', '军', '洋', '勇', '艳', '杰', '娟', '涛', '明', '超',
    '秀', '霞', '平', '刚', '桂', '重', '乐',
];

#[tokio::main]
async fn main() {
    let arguments: Vec<String> = std::env::args().skip(1).filter(|argument| argument != "--bench").collect();
    let people = if arguments.iter().any(|argument| argument == "quick") { 20_000 } else { 100_000 };
    let measured = format!(
        "{people} people in {DEPARTMENTS} departments, all with contact details; each row measured once"
    );
    let mut report = Report::begin("people", &arguments, &measured);
    let directory = tempfile::tempdir().unwrap();
    let store = Store::open(directory.path(), 2).await.unwrap();
    let tenant = fill(&store, people).await;

    let (read, made) = (read(&store).await, make(&store).await);
    writeln!(report, "\n| step | per second |\n|---|---|");
    writeln!(report, "| rows read by bare `SELECT`s | {} |", rate(people, read));
    writeln!(report, "| documents made of them, with their departments' names | {} |", rate(people, made.1));
    let nameless = made.0.iter().map(|document| Document {
        title_is_name: false,
        other_names: Vec::new(),
        text: None,
        ..document.clone()
    });
    writeln!(report, "| indexed as plain titles | {} |", rate(people, index(nameless.collect())));
    writeln!(
        report,
        "| indexed as names: pinyin, initials, whole names, numbers | {} |\n",
        rate(people, index(made.0))
    );
    freshness(&store, &directory, tenant, &mut report).await;
    report.finish();
}

/// For calls of 10,000 people.
async fn freshness(store: &Store, directory: &TempDir, tenant: i64, report: &mut Report) {
    let config = Config { data: directory.path().to_owned(), ..Config::default() };
    let replicas = Replicas::join(store, "one", &SharedSettings::default()).await.unwrap();
    let begun = Instant::now();
    let indexer = Indexer::start(store.clone(), replicas.leases().clone(), &config, false).await.unwrap();
    let mut progress = indexer.progress();
    let position = *store.positions().borrow();
    progress.wait_for(|progress| !progress.is_rebuilding() && progress.position >= position).await.unwrap();
    writeln!(
        report,
        "- the indexer fills an index with all of them in {:.2} s",
        begun.elapsed().as_secs_f64()
    );
    for _ in 0..3 {
        record(store, tenant, 0..CALL).await;
        let acknowledged = Instant::now();
        let position = *store.positions().borrow();
        progress.wait_for(|progress| progress.position >= position).await.unwrap();
        let found = millis(acknowledged.elapsed().as_secs_f64() * 1_000.0);
        writeln!(report, "- {CALL} changes of one call are found {found} ms after its acknowledgement");
    }
    indexer.stop().await;
}

fn rate(rows: usize, seconds: f64) -> String {
    #[expect(clippy::cast_precision_loss, reason = "a rate")]
    let rate = rows as f64 / seconds;
    format!("{rate:.0}")
}

async fn fill(store: &Store, people: usize) -> i64 {
    let made = store
        .write(|transaction| Box::pin(async move { Ok(tenants::create(transaction, "acme").await?.id) }));
    let tenant = made.await.unwrap();
    let department = "INSERT INTO organizations (tenant_id, org_id, platform_org_id, name, status, is_hidden, is_deleted, \
                      created_at, updated_at) VALUES (?, ?, ?, ?, 1, 0, 0, 1, ?)";
    insert(store, DEPARTMENTS, department, move |number| {
        let id = format!("d{number}");
        vec![
            tenant.into(),
            id.clone().into(),
            id.into(),
            format!("第{number}事业部 Division").into(),
            whole(number),
        ]
    })
    .await;
    let person = "INSERT INTO users (tenant_id, user_id, platform_user_id, login_id, name, sex, mobile, org_id, deputy_org_ids, \
                  status, is_hidden, is_deleted, details, picture, created_at, updated_at) \
                  VALUES (?, ?, ?, ?, ?, 1, ?, ?, ?, 1, 0, 0, ?, ?, ?, ?)";
    insert(store, people, person, move |number| {
        let id = format!("u{number}");
        let details = format!(
            r#"{{"userNum":"{number:06}","email":"someone{number}@acme.example","telephone":"010-{number:08}","postDescription":"工程师 Engineer"}}"#
        );
        vec![
            tenant.into(),
            id.clone().into(),
            id.clone().into(),
            format!("login.{number}").into(),
            name(number).into(),
            format!("138{number:08}").into(),
            format!("d{}", number % DEPARTMENTS).into(),
            format!(r#"["d{}"]"#, number * 7 % DEPARTMENTS).into(),
            details.into(),
            format!("/storage/pictures/{number}").into(),
            whole(number),
            whole(number),
        ]
    })
    .await;
    tenant
}

fn whole(number: usize) -> Value {
    i64::try_from(number).unwrap().into()
}

fn name(number: usize) -> String {
    let given = |number: usize| GIVEN[number % GIVEN.len()];
    let second = if number.is_multiple_of(3) { String::new() } else { given(number / 7).to_string() };
    format!("{}{}{second}", SURNAMES[number % SURNAMES.len()], given(number / 3))
}

async fn insert(
    store: &Store,
    rows: usize,
    text: &'static str,
    values: impl Fn(usize) -> Vec<Value> + Copy + Send + Sync + 'static,
) {
    for first in (0..rows).step_by(CALL) {
        let written = store.write(move |transaction| {
            Box::pin(async move {
                for number in first..rows.min(first + CALL) {
                    sql(text, values(number)).execute(transaction).await?;
                }
                Ok(())
            })
        });
        written.await.unwrap();
    }
}

/// As their synchronisation does.
async fn record(store: &Store, tenant: i64, numbers: std::ops::Range<usize>) {
    let recorded = store.write(move |transaction| {
        Box::pin(async move {
            for number in numbers {
                transaction.record_change(tenant, PEOPLE, &format!("u{number}"));
            }
            Ok(())
        })
    });
    recorded.await.unwrap();
}

async fn read(store: &Store) -> f64 {
    let begun = Instant::now();
    let mut sequence = 0_i64;
    loop {
        let text = "SELECT sequence, tenant_id, user_id, login_id, name, mobile, org_id, deputy_org_ids, details, picture \
                    FROM users WHERE sequence > ? ORDER BY sequence LIMIT ?";
        let rows = sql(text, [sequence.into(), ROWS.into()]).fetch_values(store.reader()).await.unwrap();
        let Some(last) = rows.last() else { break };
        sequence = *last;
    }
    begun.elapsed().as_secs_f64()
}

async fn make(store: &Store) -> (Vec<Document>, f64) {
    let begun = Instant::now();
    let mut made = Vec::new();
    let mut sequence = 0;
    while let Some((documents, last)) = scan(store.reader(), ADDRESS, sequence, ROWS).await.unwrap() {
        sequence = last;
        made.extend(documents);
    }
    (made, begun.elapsed().as_secs_f64())
}

/// In seconds, with the commit.
fn index(documents: Vec<Document>) -> f64 {
    let directory = tempfile::tempdir().unwrap();
    let (_index, mut writer) = Index::open(directory.path(), &Options::default()).unwrap();
    let mut portions: Vec<Vec<Change>> = Vec::new();
    for document in documents {
        match portions.last_mut() {
            Some(portion) if portion.len() < INDEX_BATCH => portion.push(Change::Put(document)),
            _ => portions.push(vec![Change::Put(document)]),
        }
    }
    let begun = Instant::now();
    for portion in portions {
        writer.apply(portion).unwrap();
    }
    writer.commit(&Checkpoint { store: "bench".to_owned(), position: 1, complete: true }).unwrap();
    begun.elapsed().as_secs_f64()
}
