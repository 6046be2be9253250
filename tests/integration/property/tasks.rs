//! Tasks against a model.

use std::sync::atomic::{AtomicUsize, Ordering};

use proptest::{
    collection::vec,
    prelude::*,
    test_runner::{TestCaseError, TestRunner},
};
use serde_json::{Value, json};
use uuid::Uuid;

use crate::util::{
    answer::Answer,
    caller::Caller,
    internals::{Kind, TokenScope},
    items::{todo, word_of_case},
    tasks::{Office, complete, created, pause, remove, resume, show},
};

const CASES: u32 = 16;
const TASKS: usize = 2;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Who {
    Application,
    OtherApplication,
    Assignee,
    Creator,
    Stranger,
}

#[derive(Clone, Copy, Debug)]
enum Call {
    Create(i64, usize),
    Complete(Option<i64>, bool),
    Pause,
    Resume,
    Remove,
}

#[derive(Clone, Debug)]
struct Step {
    task: usize,
    who: Who,
    call: Call,
}

fn any_step() -> impl Strategy<Value = Step> {
    let who = prop_oneof![
        12 => Just(Who::Application),
        3 => Just(Who::Assignee),
        1 => Just(Who::Creator),
        1 => Just(Who::OtherApplication),
        1 => Just(Who::Stranger),
    ];
    let call = prop_oneof![
        3 => (prop::sample::select(vec![0, 2, 0, 2, 1, 4, 5]), prop_oneof![5 => Just(0_usize), 1 => Just(1)])
            .prop_map(|(status, content)| Call::Create(status, content)),
        2 => (prop::sample::select(vec![None, Some(1), Some(2)]), any::<bool>())
            .prop_map(|(end_type, remarks)| Call::Complete(end_type, remarks)),
        3 => Just(Call::Pause),
        3 => Just(Call::Resume),
        1 => Just(Call::Remove),
    ];
    (0..TASKS, who, call).prop_map(|(task, who, call)| Step { task, who, call })
}

#[derive(Clone, Debug)]
struct Known {
    id: String,
    created: (i64, usize),
    status: i64,
    paused_from: i64,
    remarks: Option<String>,
}

#[derive(Debug, PartialEq, Eq)]
enum Expected {
    Done,
    Refused(u16, &'static str),
}

const NAMES: [&str; 7] = ["to-do", "done", "to-read", "paused", "read", "withdrawn", "removed"];

impl Known {
    /// The state after a call (book: reference/tasks.md).
    fn after(&self, call: Call) -> Option<i64> {
        match (call, self.status) {
            (Call::Complete(Some(2), _), 0 | 2) => Some(5),
            (Call::Complete(..), 0) => Some(1),
            (Call::Complete(..), 2) => Some(4),
            (Call::Pause, 0 | 2) => Some(3),
            (Call::Resume, 3) => Some(self.paused_from),
            (Call::Remove, 1 | 4 | 5) => Some(6),
            _ => None,
        }
    }

    fn is_seen_by(&self, who: Who) -> bool {
        match who {
            Who::Application | Who::Creator => self.status != 6,
            Who::Assignee => ![3, 6].contains(&self.status),
            Who::OtherApplication | Who::Stranger => false,
        }
    }

    fn module(&self) -> &'static str {
        if [0, 2, 3].contains(&self.status) { "todo" } else { "done" }
    }
}

/// The expected answer; applies the move to the task.
fn expect(known: Option<&mut Known>, who: Who, call: Call, remarks: &str) -> Expected {
    let is_person = !matches!(who, Who::Application | Who::OtherApplication);
    if is_person && !matches!(call, Call::Complete(..)) {
        return Expected::Refused(403, "application token");
    }
    let Some(known) = known.filter(|known| known.is_seen_by(who)) else {
        return Expected::Refused(404, "there is no such task");
    };
    match (who, call) {
        (Who::Creator, _) => return Expected::Refused(403, "only the assignee"),
        (Who::Assignee, Call::Complete(Some(2), _)) => {
            return Expected::Refused(403, "only by the application");
        }
        _ => {}
    }
    let Some(status) = known.after(call) else {
        return Expected::Refused(409, NAMES[usize::try_from(known.status).unwrap()]);
    };
    if status == 3 {
        known.paused_from = known.status;
    }
    known.status = status;
    if let Call::Complete(_, true) = call {
        known.remarks = Some(remarks.to_owned());
    }
    Expected::Done
}

struct Cast {
    office: Office,
    callers: [Caller; 5],
    cases: AtomicUsize,
}

impl Cast {
    async fn assemble() -> Self {
        let office = Office::open().await;
        let other = office.app.register("acme", Kind::Application, &[], vec![TokenScope::Tasks]).await;
        let people = [office.person("mei").await, office.person("omar").await, office.person("lin").await];
        let [assignee, creator, stranger] = people;
        let callers = [office.acme.caller.clone(), other.caller, assignee, creator, stranger];
        Self { office, callers, cases: AtomicUsize::default() }
    }

    fn caller(&self, who: Who) -> &Caller {
        &self.callers[who as usize]
    }

    async fn play(&self, steps: &[Step]) -> Result<(), TestCaseError> {
        let word = word_of_case(self.cases.fetch_add(1, Ordering::Relaxed));
        let mut tasks: [Option<Known>; TASKS] = Default::default();
        for (number, step) in steps.iter().enumerate() {
            let task = &mut tasks[step.task];
            let of = format!("step {number}, {step:?} of {task:?}");
            if let Call::Create(status, content) = step.call {
                self.create(task, &format!("{word}{}", step.task), &word, (status, content)).await?;
            } else {
                let remarks = format!("{word} {number}");
                let id = task.as_ref().map_or_else(|| Uuid::from_u128(7).to_string(), |task| task.id.clone());
                let answer = self.make(step, &id, &remarks).await;
                match expect(task.as_mut(), step.who, step.call, &remarks) {
                    Expected::Done => {
                        prop_assert_eq!(answer.status, 200, "{}: {}", of, answer.text);
                        prop_assert_eq!(answer.data(), &json!(id));
                    }
                    Expected::Refused(status, named) => {
                        prop_assert_eq!(answer.status, status, "{}: {}", of, answer.text);
                        prop_assert!(answer.message().contains(named), "{}: {}", of, answer.text);
                    }
                }
            }
            if let Some(task) = task {
                self.check(task, step.who, &of).await?;
                self.check(task, Who::Application, &of).await?;
            }
        }
        self.check_found(&tasks, &word).await
    }

    /// An equal creation returns the same task.
    async fn create(
        &self,
        task: &mut Option<Known>,
        app_task_id: &str,
        word: &str,
        content: (i64, usize),
    ) -> Result<(), TestCaseError> {
        let (status, variant) = content;
        let mut form = todo(app_task_id, &format!("{word} {}", ["one", "two"][variant]), "mei");
        (form["creatorId"], form["status"]) = (json!("omar"), json!(status));
        let path = if [0, 2].contains(&status) { "/api/todo/create" } else { "/api/done/create" };
        let answer = self.caller(Who::Application).post(path, &form).await;
        if task.as_ref().is_some_and(|task| task.created != content) {
            prop_assert_eq!(answer.status, 409, "{}", answer.text);
            return Ok(());
        }
        prop_assert_eq!(answer.status, 200, "{}", answer.text);
        let id = created(&answer);
        let known = task.get_or_insert_with(|| Known {
            id: id.clone(),
            created: content,
            status,
            paused_from: status,
            remarks: None,
        });
        prop_assert_eq!(&known.id, &id);
        Ok(())
    }

    async fn make(&self, step: &Step, id: &str, remarks: &str) -> Answer {
        let caller = self.caller(step.who);
        match step.call {
            Call::Complete(end_type, with_remarks) => {
                let mut body = json!({});
                if let Some(end_type) = end_type {
                    body["endType"] = json!(end_type);
                }
                if with_remarks {
                    (body["endComment"], body["endResult"]) = (json!(remarks), json!(remarks));
                }
                complete(caller, id, body).await
            }
            Call::Pause => pause(caller, id).await,
            Call::Resume => resume(caller, id).await,
            Call::Remove => remove(caller, id).await,
            Call::Create(..) => unreachable!("not a move"),
        }
    }

    async fn check(&self, task: &Known, who: Who, of: &str) -> Result<(), TestCaseError> {
        for module in ["todo", "done"] {
            let shown = show(self.caller(who), module, &task.id).await;
            if task.is_seen_by(who) && task.module() == module {
                prop_assert_eq!(shown.status, 200, "{}: {}", of, shown.text);
                let remarks = task.remarks.as_ref().map_or(Value::Null, |remarks| json!(remarks));
                prop_assert_eq!(&shown.data()["status"], &json!(task.status), "{}", of);
                prop_assert_eq!(&shown.data()["endComment"], &remarks, "{}", of);
                prop_assert_eq!(&shown.data()["endResult"], &remarks, "{}", of);
            } else {
                prop_assert_eq!(shown.status, 404, "{}: {}", of, shown.text);
            }
        }
        Ok(())
    }

    /// Checks who finds each task (book: explanation/visibility.md).
    async fn check_found(&self, tasks: &[Option<Known>], word: &str) -> Result<(), TestCaseError> {
        self.office.app.wait_for_index().await;
        for module in ["todo", "done"] {
            let standing = tasks.iter().flatten().filter(|task| {
                let states: &[i64] = if module == "todo" { &[0, 2] } else { &[1, 4, 5] };
                states.contains(&task.status)
            });
            let mut expected: Vec<String> = standing.map(|task| task.id.clone()).collect();
            expected.sort_unstable();
            for who in [Who::Assignee, Who::Creator] {
                let mut found = self.caller(who).find(module, word).await;
                found.sort_unstable();
                prop_assert_eq!(&found, &expected, "{:?} in {}", who, module);
            }
            prop_assert_eq!(self.caller(Who::Stranger).find(module, word).await, Vec::<String>::new());
        }
        Ok(())
    }
}

#[test]
fn random_moves_are_answered_by_the_model() {
    let runtime = tokio::runtime::Runtime::new().unwrap();
    let cast = runtime.block_on(Cast::assemble());
    let mut runner = TestRunner::new(trawl_seeds::cases(CASES));
    let drawn = runner.run(&vec(any_step(), 1..40), |steps| runtime.block_on(cast.play(&steps)));
    drawn.unwrap();
}
