//! Reads the rows of a query in another database.

mod database;
mod page;

use secrecy::SecretString;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use self::{
    database::Database,
    page::{Begin, Columns, Cursor, PAGE_ROWS},
};
use super::{
    batch::{Batch, Progress},
    entries::read_entries,
    forms::{RunOutcome, SqlQuery},
    run::{Ending, Run, Stop},
};
use crate::error::Error;

/// Columns of a row that are no fields.
const OWN_COLUMNS: usize = 3;

/// The rows that were read last.
#[derive(Debug, Default, Deserialize, Serialize)]
#[serde(default)]
struct QueryPosition {
    /// Rows of this cursor are read again: others may have come beside them.
    cursor: Option<Cursor>,
}

/// A page of rows.
struct QueryPage {
    rows: Vec<Map<String, Value>>,
    /// The last row's cursor and id.
    last: Option<(Cursor, String)>,
    is_last: bool,
}

/// Reads new and changed rows, page by page.
pub(super) async fn read(
    run: &mut Run<'_>,
    sql: &SqlQuery,
    password: Option<&SecretString>,
) -> Result<Ending, Stop> {
    let mut position: QueryPosition = serde_json::from_str(&run.begun.position).unwrap_or_default();
    let folders = &run.runner.state.folders;
    let mut database = Database::connect(&sql.address, password, folders).await.map_err(Stop::failed)?;
    let columns = database.columns(&sql.query).await.map_err(Stop::failed)?;
    let columns = Columns::find(sql.kind(), &columns, &sql.cursor_column).map_err(Stop::failed)?;
    let mut last: Option<(Cursor, String)> = None;
    loop {
        let begin = match (&last, &position.cursor) {
            (Some((cursor, id)), _) => Begin::Behind(cursor, id),
            (None, Some(cursor)) => Begin::At(cursor),
            (None, None) => Begin::First,
        };
        let statement = page::statement(sql.kind(), &sql.query, &columns, begin);
        let rows = database.rows(statement).await.map_err(Stop::failed)?;
        let page = read_page(sql, &columns, rows).map_err(Stop::failed)?;
        if page.last.is_some() && page.last == last {
            return Err(Stop::failed("sql.cursorColumn: must order the rows of the query"));
        }
        let id = &run.begun.settings.id;
        let items = run.take(read_entries(id, page.rows)?)?;
        let items = run.write_but_last(items).await?;
        last = page.last.or(last);
        position.cursor = last.as_ref().map(|(cursor, _)| cursor.clone()).or(position.cursor);
        let next = serde_json::to_string(&position).map_err(Error::internal)?;
        let batch = Batch { items, gone: Vec::new() };
        if page.is_last {
            let outcome = RunOutcome::Read;
            return Ok(Ending { outcome, position: Some(next), batch, is_whole: true });
        }
        run.write(batch, Progress::Page(next)).await?;
    }
}

fn read_page(sql: &SqlQuery, columns: &Columns, rows: Vec<Vec<Option<String>>>) -> Result<QueryPage, String> {
    let is_last = rows.len() < PAGE_ROWS;
    let (mut read, mut last) = (Vec::with_capacity(rows.len()), None);
    for mut row in rows {
        let own = row.split_off(row.len().saturating_sub(OWN_COLUMNS));
        let fields = columns.fields.iter().zip(row).filter_map(|((field, _), text)| {
            let text = text?;
            let number = (*field == "displayTime").then(|| text.parse::<i64>().ok()).flatten();
            Some(((*field).to_owned(), number.map_or(Value::String(text), Value::from)))
        });
        read.push(fields.collect());
        let [Some(id), Some(text), Some(data_type)] = <[_; OWN_COLUMNS]>::try_from(own).unwrap_or_default()
        else {
            return Err("sql.query: must give an id in each row".to_owned());
        };
        if !sql.kind().can_compare(&data_type) {
            return Err("sql.cursorColumn: must hold whole numbers, times or texts".to_owned());
        }
        last = Some((Cursor { text, data_type }, id));
    }
    Ok(QueryPage { rows: read, last, is_last })
}
