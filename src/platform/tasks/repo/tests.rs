use sea_orm::ConnectionTrait;

use super::*;
use crate::store::Store;

/// However many there are, each is looked up; a tenant with a million tasks is not walked through for some of them.
#[tokio::test]
async fn many_tasks_are_found_by_their_ids() {
    let directory = tempfile::tempdir().unwrap();
    let store = Store::open(directory.path(), 1).await.unwrap();
    for count in [1, 2, 30, ROWS_PER_STATEMENT] {
        let text = format!("EXPLAIN QUERY PLAN {} IN ({})", find_text(), placeholders(count));
        let values = std::iter::once(Value::from(1)).chain((0..count).map(|_| Value::from("id")));
        let plan = store.reader().query_all_raw(sql(text, values)).await.unwrap();
        let [step] = plan.as_slice() else { panic!("{count}: {} steps", plan.len()) };
        let step: String = step.try_get("", "detail").unwrap();
        assert!(step.starts_with("SEARCH tasks USING INDEX") && step.ends_with("(id=?)"), "{count}: {step}");
    }
}
