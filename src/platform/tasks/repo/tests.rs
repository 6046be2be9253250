use super::*;
use crate::store::tests::plan_of_find;

#[tokio::test]
async fn lookup_of_many_tasks_uses_id_index() {
    for count in [1, 2, 30, ROWS_PER_STATEMENT] {
        let plan = plan_of_find(&find_text(), &[1.into()], count).await;
        let [step] = plan.as_slice() else { panic!("{count}: {plan:?}") };
        assert!(step.starts_with("SEARCH tasks USING INDEX") && step.ends_with("(id=?)"), "{count}: {step}");
    }
}
