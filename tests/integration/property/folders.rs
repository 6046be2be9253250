//! Roles, locks and names of folders against a model.

use std::collections::BTreeMap;

use proptest::{prelude::*, strategy::ValueTree, test_runner::TestRunner};
use serde_json::{Value, json};

use crate::util::{
    answer::Answer,
    app::TestApp,
    caller::Caller,
    folders::{allowed, ask, list, put_files},
    groups::{group, people},
};

const CASES: u32 = 6;
const IDS: [&str; 5] = ["p0", "p1", "p2", "p3", "p4"];
const NAMES: [&str; 4] = ["a", "b", "B", "c"];
const ROLES: [&str; 4] = ["viewer", "downloader", "editor", "manager"];

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Target {
    Person(usize),
    Group,
}

/// A step on a folder; folder 0 is the group's first level.
#[derive(Clone, Copy, Debug)]
enum Step {
    Create(usize, usize, usize, bool),
    Delete(usize, usize),
    Rename(usize, usize, usize),
    Lock(usize, usize),
    Unlock(usize, usize),
    Give(usize, usize, Target, u8),
    Take(usize, usize, Target),
}

/// Three nested folders, one beside them, and a person of each role.
const PRELUDE: [Step; 8] = [
    Step::Create(0, 0, 0, false),
    Step::Create(0, 1, 0, false),
    Step::Create(0, 2, 0, false),
    Step::Create(0, 1, 1, false),
    Step::Give(0, 1, Target::Person(1), 3),
    Step::Give(0, 1, Target::Person(3), 4),
    Step::Give(0, 2, Target::Person(4), 2),
    Step::Give(0, 2, Target::Group, 4),
];

fn any_step() -> impl Strategy<Value = Step> {
    let who = || prop_oneof![2 => Just(0), 5 => 0..IDS.len()];
    let which = || 1..8_usize;
    let target = prop_oneof![4 => (0..IDS.len()).prop_map(Target::Person), 1 => Just(Target::Group)];
    prop_oneof![
        8 => (who(), 0..8_usize, 0..NAMES.len(), any::<bool>()).prop_map(|(by, at, name, skip)| Step::Create(by, at, name, skip)),
        1 => (who(), which()).prop_map(|(by, of)| Step::Delete(by, of)),
        3 => (who(), which(), 0..NAMES.len()).prop_map(|(by, of, name)| Step::Rename(by, of, name)),
        4 => (who(), which()).prop_map(|(by, of)| Step::Lock(by, of)),
        3 => (who(), which()).prop_map(|(by, of)| Step::Unlock(by, of)),
        6 => (who(), which(), target.clone(), 1..5_u8).prop_map(|(by, of, to, role)| Step::Give(by, of, to, role)),
        2 => (who(), which(), target).prop_map(|(by, of, from)| Step::Take(by, of, from)),
    ]
}

#[derive(Clone, Debug)]
struct Folder {
    parent: usize,
    name: &'static str,
    locked_by: Option<usize>,
    rights: BTreeMap<Target, u8>,
    is_gone: bool,
}

#[derive(Clone, Debug, Default)]
struct Naive {
    folders: Vec<Folder>,
}

impl Naive {
    fn way(&self, of: usize) -> Option<Vec<&Folder>> {
        let (mut way, mut at) = (Vec::new(), of);
        while at > 0 {
            let folder = self.folders.get(at - 1).filter(|folder| !folder.is_gone)?;
            way.push(folder);
            at = folder.parent;
        }
        Some(way)
    }

    /// 0 if the folder is invisible to the person.
    fn role(&self, by: usize, of: usize) -> u8 {
        let Some(way) = self.way(of) else { return 0 };
        if by == 0 {
            return 4;
        }
        let rights = way.iter().flat_map(|folder| &folder.rights);
        let his = rights.filter(|(target, _)| match target {
            Target::Person(person) => *person == by,
            Target::Group => by <= 2,
        });
        his.map(|(_, role)| *role).max().unwrap_or(0)
    }

    fn locked_by_another(&self, by: usize, of: usize) -> bool {
        self.way(of).unwrap().iter().any(|folder| folder.locked_by.is_some_and(|other| other != by))
    }

    fn named(&self, parent: usize, name: &str) -> Option<usize> {
        let is_it = |folder: &Folder| {
            folder.parent == parent && !folder.is_gone && folder.name.eq_ignore_ascii_case(name)
        };
        self.folders.iter().position(is_it).map(|place| place + 1)
    }

    fn is_below(&self, of: usize, top: usize) -> bool {
        let mut at = of;
        while at > 0 {
            if at == top {
                return true;
            }
            at = self.folders[at - 1].parent;
        }
        false
    }

    /// Returns the expected code.
    fn step(&mut self, step: Step) -> u32 {
        let (by, of, least) = match step {
            // Only the group's owner creates on its first level; members see the group.
            Step::Create(0, 0, ..) => (0, 0, 0),
            Step::Create(by, 0, ..) => return if by <= 2 { 430_011 } else { 430_003 },
            Step::Create(by, of, ..) | Step::Delete(by, of) | Step::Rename(by, of, _) => (by, of, 3),
            // Everybody may give up their own right.
            Step::Take(by, of, Target::Person(from)) if by == from => (by, of, 1),
            Step::Lock(by, of) | Step::Unlock(by, of) | Step::Give(by, of, ..) | Step::Take(by, of, _) => {
                (by, of, 4)
            }
        };
        match self.role(by, of) {
            0 => return 430_003,
            role if role < least => return 430_011,
            _ => {}
        }
        let changes = matches!(step, Step::Create(..) | Step::Delete(..) | Step::Rename(..));
        if changes && self.locked_by_another(by, of) {
            return 430_017;
        }
        let is_locked = |folder: &&Folder| folder.locked_by.is_some();
        match step {
            Step::Create(_, _, name, skip) => match self.named(of, NAMES[name]) {
                Some(_) => return if skip { 200 } else { 430_002 },
                None => self.folders.push(Folder {
                    parent: of,
                    name: NAMES[name],
                    locked_by: None,
                    rights: BTreeMap::new(),
                    is_gone: false,
                }),
            },
            Step::Delete(..) => {
                let below = (1..=self.folders.len())
                    .filter(|one| self.is_below(*one, of) && self.way(*one).is_some());
                if below
                    .into_iter()
                    .any(|one| self.folders[one - 1].locked_by.is_some_and(|other| other != by))
                {
                    return 430_017;
                }
                self.folders[of - 1].is_gone = true;
            }
            Step::Rename(_, _, name) => {
                let parent = self.folders[of - 1].parent;
                if self.named(parent, NAMES[name]).is_some_and(|other| other != of) {
                    return 430_002;
                }
                self.folders[of - 1].name = NAMES[name];
            }
            Step::Lock(..) => {
                if self.way(of).unwrap().iter().any(is_locked) {
                    return 430_017;
                }
                self.folders[of - 1].locked_by = Some(by);
            }
            Step::Unlock(..) => {
                if self.way(of).unwrap()[1..].iter().any(is_locked) {
                    return 430_017;
                }
                if self.folders[of - 1].locked_by.take().is_none() {
                    return 400;
                }
            }
            // Members see the group and may name it.
            Step::Give(_, _, Target::Group, _) if by > 2 => return 400,
            Step::Give(_, _, to, role) => drop(self.folders[of - 1].rights.insert(to, role)),
            Step::Take(_, _, from) => drop(self.folders[of - 1].rights.remove(&from)),
        }
        200
    }

    fn topmost(&self, by: usize) -> Vec<usize> {
        let all = (1..=self.folders.len()).filter(|of| self.role(by, *of) > 0);
        all.filter(|of| {
            let parent = self.folders[of - 1].parent;
            parent == 0 || self.role(by, parent) == 0
        })
        .collect()
    }

    /// The permissions of a person on a folder (book: reference/files.md).
    fn permissions(&self, by: usize, of: usize) -> String {
        let role = self.role(by, of);
        let way = self.way(of).unwrap();
        let (itself, above) =
            (way[0].locked_by.is_some(), way[1..].iter().any(|folder| folder.locked_by.is_some()));
        let open = !self.locked_by_another(by, of);
        let table = [
            ("deleteable", role >= 3 && open),
            ("downloadable", role >= 2),
            ("editable", role >= 3 && open),
            ("lockable", role >= 4 && !itself && !above),
            ("manageable", role >= 4),
            ("previewable", true),
            ("readable", true),
            ("restoreable", role >= 3 && open),
            ("shareable", role >= 2),
            ("unlockable", role >= 4 && itself && !above),
            ("uploadable", role >= 3 && open),
        ];
        let names: Vec<&str> = table.iter().filter(|(_, is_true)| *is_true).map(|(name, _)| *name).collect();
        names.join(" ")
    }
}

struct Real<'a> {
    app: &'a TestApp,
    callers: &'a [Caller],
    group: String,
    ids: Vec<String>,
}

impl Real<'_> {
    fn id(&self, of: usize) -> &str {
        self.ids.get(of - 1).map_or("nothing", String::as_str)
    }

    async fn take(&mut self, step: Step) -> Answer {
        let target = |to: Target| match to {
            Target::Person(person) => (IDS[person].to_owned(), 1),
            Target::Group => (self.group.clone(), 2),
        };
        let (by, operation, body) = match step {
            Step::Create(by, 0, name, skip) => {
                (by, "create", json!({"name": NAMES[name], "principalId": self.group, "skip": skip}))
            }
            Step::Create(by, of, name, skip) => {
                (by, "create", json!({"name": NAMES[name], "parentId": self.id(of), "skip": skip}))
            }
            Step::Delete(by, of) => (by, "delete", json!({"dirId": self.id(of)})),
            Step::Rename(by, of, name) => (by, "rename", json!({"dirId": self.id(of), "name": NAMES[name]})),
            Step::Lock(by, of) => (by, "lock", json!({"dirId": self.id(of)})),
            Step::Unlock(by, of) => (by, "unlock", json!({"dirId": self.id(of)})),
            Step::Give(by, of, to, role) => {
                let (target, kind) = target(to);
                let roles = [ROLES[usize::from(role) - 1]];
                (
                    by,
                    "authorize",
                    json!({"dirId": self.id(of), "roleIds": roles, "authTarget": [target], "targetType": kind}),
                )
            }
            Step::Take(by, of, from) => {
                let (target, kind) = target(from);
                (by, "authorize/remove", json!({"dirId": self.id(of), "target": target, "targetType": kind}))
            }
        };
        let answer = ask(&self.callers[by], operation, body).await;
        assert_eq!(answer.status, 200, "{}", answer.text);
        if let (Step::Create(..), Some(id)) = (step, answer.data()["id"].as_str())
            && !self.ids.iter().any(|known| known == id)
        {
            self.ids.push(id.to_owned());
            put_files(self.app, id, "f", &[1]).await;
        }
        answer
    }

    async fn check(&self, naive: &Naive, of: &dyn Fn() -> String) {
        for (by, caller) in self.callers.iter().enumerate() {
            let check = |listed: &Answer, mut expected: Vec<usize>| {
                let mut listed: Vec<Value> = listed
                    .items()
                    .iter()
                    .filter(|folder| self.ids.iter().any(|id| folder["id"] == *id))
                    .cloned()
                    .collect();
                listed.sort_by_key(|folder| self.ids.iter().position(|id| folder["id"] == *id));
                expected.sort_unstable();
                let ids: Vec<&str> = listed.iter().map(|folder| folder["id"].as_str().unwrap()).collect();
                let named: Vec<&str> = expected.iter().map(|of| self.id(*of)).collect();
                assert_eq!(ids, named, "{by}, {}", of());
                for (folder, number) in listed.iter().zip(&expected) {
                    assert_eq!(allowed(folder), naive.permissions(by, *number), "{by} in {number}, {}", of());
                    assert_eq!(folder["name"], naive.folders[number - 1].name, "{}", of());
                }
            };
            check(&list(caller, "").await.ok_epoch(), naive.topmost(by));
            for number in 1..=self.ids.len() {
                let answer = list(caller, self.id(number)).await;
                if naive.role(by, number) == 0 {
                    answer.fails_in_business(430_003, "no folder");
                    continue;
                }
                let children = (1..=naive.folders.len())
                    .filter(|one| naive.folders[one - 1].parent == number && naive.way(*one).is_some());
                check(&answer.ok_epoch(), children.collect());
            }
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn roles_and_locks_equal_the_model_under_random_steps() {
    let mut runner = TestRunner::new(trawl_seeds::cases(CASES));
    let (app, acme) = TestApp::start_with_acme().await;
    let callers = people(&app, &acme, IDS).await;
    let mut codes: BTreeMap<u32, usize> = BTreeMap::new();
    let mut live = 0;
    for _ in 0..trawl_seeds::count(CASES) {
        let steps = proptest::collection::vec(any_step(), 30..70).new_tree(&mut runner).unwrap().current();
        let steps = [PRELUDE.to_vec(), steps].concat();
        let group = group(&callers[0], "Harbour", &["p1", "p2"]).await;
        let mut real = Real { app: &app, callers: &callers, group, ids: Vec::new() };
        let mut naive = Naive::default();
        for (number, step) in steps.iter().enumerate() {
            let before = naive.clone();
            let expected = naive.step(*step);
            let of = || format!("step {number} {step:?}, before it {before:#?}");
            let answer = real.take(*step).await;
            assert_eq!(answer.body["code"], expected, "{}: {}", answer.text, of());
            *codes.entry(expected).or_default() += 1;
            if number % 10 == 9 {
                real.check(&naive, &of).await;
            }
        }
        let there = (1..=naive.folders.len()).filter(|of| naive.way(*of).is_some()).count();
        live += i64::try_from(there).unwrap();
        assert_eq!(app.number("SELECT file_bytes FROM tenants WHERE code = 'acme'").await, live);
        assert_eq!(
            app.number("SELECT SUM(file_bytes) FROM directories WHERE subject IS NOT NULL").await,
            live
        );
    }
    for code in [200, 430_002, 430_003, 430_011, 430_017] {
        assert!(codes.get(&code).is_some_and(|times| *times > 0), "{code} never came: {codes:?}");
    }
}
