//! Has PostgreSQL plan each statement that a server under test sends to SQLite.

use std::{
    collections::HashSet,
    sync::{LazyLock, Mutex, PoisonError, mpsc},
};

use trawl::store::{SQLITE_OBSERVER, Statement};

use super::postgres::{has_server, migrated_database, open};

/// Kinds of statements that PostgreSQL plans; SQLite alone is given others.
const PLANNED: [&str; 5] = ["SELECT", "INSERT", "UPDATE", "DELETE", "WITH"];

/// Statements that PostgreSQL refused, with its reasons.
static REFUSED: Mutex<Vec<String>> = Mutex::new(Vec::new());

type Question = (Statement, mpsc::Sender<Result<(), String>>);

/// Fails the test at its end, if a statement was refused meanwhile.
pub(crate) struct Planning(());

impl Planning {
    /// Begins, where a PostgreSQL server is at hand.
    pub(crate) fn begin() -> Self {
        if has_server() {
            SQLITE_OBSERVER.get_or_init(|| plan_once);
        }
        Self(())
    }
}

impl Drop for Planning {
    fn drop(&mut self) {
        let refused = std::mem::take(&mut *REFUSED.lock().unwrap_or_else(PoisonError::into_inner));
        assert!(refused.is_empty() || std::thread::panicking(), "PostgreSQL refuses {refused:#?}");
    }
}

fn plan_once(statement: &Statement) {
    static SEEN: Mutex<Option<HashSet<String>>> = Mutex::new(None);
    // Neither the number of rows nor that of values makes another statement.
    let letters: String = statement.text().chars().filter(|letter| letter.is_alphabetic()).collect();
    let is_planned =
        PLANNED.iter().any(|kind| letters.starts_with(kind)) && !letters.contains("sqliteschema");
    let mut seen = SEEN.lock().unwrap_or_else(PoisonError::into_inner);
    if !is_planned || !seen.get_or_insert_default().insert(letters) {
        return;
    }
    drop(seen);
    let (answer, answered) = mpsc::channel();
    planner().send((statement.clone(), answer)).unwrap();
    if let Err(reason) = answered.recv().unwrap() {
        let refusal = format!("{}: {reason}", statement.text());
        REFUSED.lock().unwrap_or_else(PoisonError::into_inner).push(refusal);
    }
}

/// A thread with a store of its own, for callers are within a runtime.
fn planner() -> mpsc::Sender<Question> {
    static PLANNER: LazyLock<mpsc::Sender<Question>> = LazyLock::new(|| {
        let (sender, questions) = mpsc::channel::<Question>();
        std::thread::spawn(move || {
            tokio::runtime::Runtime::new().unwrap().block_on(async {
                let store = open(&migrated_database(&format!("planner_{}", std::process::id()))).await;
                for (statement, answer) in questions {
                    let plan = statement.explain().fetch_values::<String>(store.reader()).await;
                    let _ = answer.send(plan.map(drop).map_err(|error| error.to_string()));
                }
            });
        });
        sender
    });
    PLANNER.clone()
}
