//! Group membership against a model.

use std::collections::BTreeMap;

use proptest::{prelude::*, strategy::ValueTree, test_runner::TestRunner};
use reqwest::Method;

use crate::util::{
    app::TestApp,
    caller::Caller,
    groups::{group_of, members, people, role, set_role},
};

const CASES: u32 = 8;
const IDS: [&str; 5] = ["p0", "p1", "p2", "p3", "p4"];

#[derive(Clone, Copy, Debug)]
enum Step {
    Add(usize, usize, usize),
    Remove(usize, usize, usize),
    SetRole(usize, usize, i64),
    Rename(usize),
    End(usize),
}

fn any_step() -> impl Strategy<Value = Step> {
    let who = || 0..IDS.len();
    prop_oneof![
        6 => (who(), who(), who()).prop_map(|(by, one, two)| Step::Add(by, one, two)),
        5 => (who(), who(), who()).prop_map(|(by, one, two)| Step::Remove(by, one, two)),
        8 => (who(), who(), 0_i64..3).prop_map(|(by, of, role)| Step::SetRole(by, of, role)),
        2 => who().prop_map(Step::Rename),
        1 => who().prop_map(Step::End),
    ]
}

#[derive(Clone, Debug)]
struct Naive {
    roles: BTreeMap<usize, i64>,
}

impl Naive {
    fn step(&mut self, step: Step) -> u16 {
        let (Step::Add(by, ..)
        | Step::Remove(by, ..)
        | Step::SetRole(by, ..)
        | Step::Rename(by)
        | Step::End(by)) = step;
        let Some(own) = self.roles.get(&by).copied() else { return 404 };
        match step {
            Step::Add(..) | Step::Rename(_) if own == 0 => 403,
            Step::Add(_, one, two) => {
                self.roles.entry(one).or_insert(0);
                self.roles.entry(two).or_insert(0);
                200
            }
            Step::Remove(_, one, two) => self.remove(by, own, &[one, two]),
            Step::SetRole(_, of, to) => self.set_role(by, own, of, to),
            Step::Rename(_) => 200,
            Step::End(_) if own < 2 => 403,
            Step::End(_) => {
                self.roles.clear();
                200
            }
        }
    }

    fn remove(&mut self, by: usize, own: i64, whom: &[usize]) -> u16 {
        if own == 0 && whom.iter().any(|one| *one != by) {
            return 403;
        }
        let mut whom: Vec<usize> = whom.to_vec();
        whom.sort_unstable();
        for one in &whom {
            let role = self.roles.get(one).copied();
            if *one == by {
                if own == 2 {
                    return 409;
                }
            } else if role.is_some_and(|role| role >= own) {
                return 403;
            }
        }
        self.roles.retain(|one, _| !whom.contains(one));
        200
    }

    fn set_role(&mut self, by: usize, own: i64, of: usize, to: i64) -> u16 {
        if own < 2 {
            return 403;
        }
        if of == by {
            return if to == 2 { 200 } else { 409 };
        }
        if !self.roles.contains_key(&of) {
            return 404;
        }
        if to == 2 {
            self.roles.insert(by, 1);
        }
        self.roles.insert(of, to);
        200
    }
}

async fn take(callers: &[Caller], group: &str, step: Step) -> u16 {
    let answer = match step {
        Step::Add(by, one, two) => members(&callers[by], Method::POST, group, &[IDS[one], IDS[two]]).await,
        Step::Remove(by, one, two) => {
            members(&callers[by], Method::DELETE, group, &[IDS[one], IDS[two]]).await
        }
        Step::SetRole(by, of, role) => set_role(&callers[by], group, IDS[of], role).await,
        Step::Rename(by) => {
            callers[by].put(&format!("/v1/groups/{group}"), &serde_json::json!({"name": "New"})).await
        }
        Step::End(by) => callers[by].delete(&format!("/v1/groups/{group}")).await,
    };
    answer.status
}

#[tokio::test(flavor = "multi_thread")]
async fn roles_equal_the_model_with_exactly_one_owner() {
    let mut runner = TestRunner::new(trawl_seeds::cases(CASES));
    let (app, acme) = TestApp::start_with_acme().await;
    let callers = people(&app, &acme, IDS).await;
    let mut done = 0;
    for _ in 0..trawl_seeds::count(CASES) {
        let steps = proptest::collection::vec(any_step(), 1..40).new_tree(&mut runner).unwrap().current();
        let form = serde_json::json!({"name": "Harbour", "users": ["p1", "p2"]});
        let group = group_of(&callers[0], form).await;
        let mut naive = Naive { roles: BTreeMap::from([(0, 2), (1, 0), (2, 0)]) };
        for (number, step) in steps.iter().enumerate() {
            let before = naive.clone();
            let expected = naive.step(*step);
            let of = || format!("step {number} of {steps:?}, before it {before:?}");
            assert_eq!(take(&callers, &group, *step).await, expected, "{}", of());
            for (who, caller) in callers.iter().enumerate() {
                assert_eq!(role(caller, &group).await, naive.roles.get(&who).copied(), "{who}, {}", of());
            }
            let owners = naive.roles.values().filter(|role| **role == 2).count();
            assert_eq!(owners, usize::from(!naive.roles.is_empty()), "{}", of());
            done += usize::from(expected == 200);
        }
    }
    assert!(done > 0, "no step was permitted");
}
