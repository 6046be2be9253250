use super::*;
use crate::store::tests::plan_of_find;

/// However many there are, each is looked up; a tenant with a million tasks is not walked through for some of them.
#[tokio::test]
async fn many_tasks_are_found_by_their_ids() {
    for count in [1, 2, 30, ROWS_PER_STATEMENT] {
        let plan = plan_of_find(&find_text(), &[1.into()], count).await;
        let [step] = plan.as_slice() else { panic!("{count}: {plan:?}") };
        assert!(step.starts_with("SEARCH tasks USING INDEX") && step.ends_with("(id=?)"), "{count}: {step}");
    }
}
