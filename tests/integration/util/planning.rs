//! Has PostgreSQL plan each statement that a server under test sends to SQLite.

use std::{
    collections::HashSet,
    sync::{LazyLock, Mutex, PoisonError, mpsc},
};

use sqlx::{
    AssertSqlSafe, Column as _, Connection as _, Executor as _, SqlSafeStr as _, Statement as _, Type,
    TypeInfo as _,
};
use sqlx_postgres::{PgConnection, PgTypeInfo, Postgres, types::Oid};
use trawl::store::{SQLITE_OBSERVER, Statement, Store, Value};

use super::postgres::{has_server, migrated_database, open};

/// Kinds of statements that PostgreSQL plans; SQLite alone is given others.
const PLANNED: [&str; 5] = ["SELECT", "INSERT", "UPDATE", "DELETE", "WITH"];

/// PostgreSQL's type `unknown`.
const UNKNOWN: Oid = Oid(705);

/// PostgreSQL's type of sums, which is not read as a number.
const NUMERIC: &str = "NUMERIC";

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
    let known = seen.get_or_insert_default();
    // Texts with U+0000 are refused for both databases; the statement comes again with others.
    if !is_planned || known.contains(&letters) || statement.for_postgres().1.iter().any(holds_null) {
        return;
    }
    known.insert(letters);
    drop(seen);
    let (answer, answered) = mpsc::channel();
    planner().send((statement.clone(), answer)).unwrap();
    if let Err(reason) = answered.recv().unwrap() {
        let refusal = format!("{}: {reason}", statement.text());
        REFUSED.lock().unwrap_or_else(PoisonError::into_inner).push(refusal);
    }
}

/// A thread with connections of its own, for callers are within a runtime.
fn planner() -> mpsc::Sender<Question> {
    static PLANNER: LazyLock<mpsc::Sender<Question>> = LazyLock::new(|| {
        let (sender, questions) = mpsc::channel::<Question>();
        std::thread::spawn(move || {
            tokio::runtime::Runtime::new().unwrap().block_on(async {
                let address = migrated_database(&format!("planner_{}", std::process::id()));
                let store = open(&address).await;
                let mut connection = PgConnection::connect(&address).await.unwrap();
                for (statement, answer) in questions {
                    let _ = answer.send(plan(&store, &mut connection, &statement).await);
                }
            });
        });
        sender
    });
    PLANNER.clone()
}

async fn plan(store: &Store, connection: &mut PgConnection, statement: &Statement) -> Result<(), String> {
    let plan = statement.explain().fetch_values::<String>(store.reader()).await;
    match plan.map_err(|error| error.to_string()) {
        // A table of the test's own: `store::schema` compares those of the product.
        Err(reason) if reason.contains("relation \"") && reason.contains("does not exist") => return Ok(()),
        plan => plan?,
    };
    let (text, values) = statement.for_postgres();
    let types: Vec<PgTypeInfo> = values.iter().map(type_of).collect();
    let prepared = connection.prepare_with(AssertSqlSafe(text).into_sql_str(), &types).await;
    let prepared = prepared.map_err(|error| error.to_string())?;
    match prepared.columns().iter().find(|column| column.type_info().name() == NUMERIC) {
        Some(column) => Err(format!("{} is {NUMERIC}, and needs a CAST", column.name())),
        None => Ok(()),
    }
}

fn holds_null(value: &Value) -> bool {
    matches!(value, Value::Text(text) if text.contains('\0'))
}

fn type_of(value: &Value) -> PgTypeInfo {
    match value {
        Value::Null => PgTypeInfo::with_oid(UNKNOWN),
        Value::Bool(_) => <bool as Type<Postgres>>::type_info(),
        Value::Integer(_) => <i64 as Type<Postgres>>::type_info(),
        Value::Real(_) => <f64 as Type<Postgres>>::type_info(),
        Value::Text(_) => <String as Type<Postgres>>::type_info(),
        Value::Bytes(_) => <Vec<u8> as Type<Postgres>>::type_info(),
        Value::List(_) => <Vec<String> as Type<Postgres>>::type_info(),
    }
}
