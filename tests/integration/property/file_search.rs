//! File search by three people against a model, after random changes.

use std::collections::{BTreeMap, BTreeSet};

use proptest::{prelude::*, strategy::ValueTree, test_runner::TestRunner};
use serde_json::json;

use crate::util::{
    app::TestApp,
    caller::Caller,
    files::{delete, put_version},
    folders::{ask, folder, give},
    groups::people,
    items::word_of_case,
};

const CASES: u32 = 4;
const IDS: [&str; 3] = ["mei", "omar", "lin"];
const FILES: [&str; 3] = ["first.txt", "second.md", "third.csv"];
const TEXTS: [&str; 3] = ["tide", "quay", "潮水"];
const NAMES: [&str; 3] = ["Amber", "Birch", "Cedar"];

#[derive(Clone, Copy, Debug)]
enum Step {
    Make(usize),
    Rename(usize, usize),
    Remove(usize),
    Give(usize, usize),
    Take(usize, usize),
    Put(usize, usize, usize),
    Delete(usize, usize),
}

fn any_step() -> impl Strategy<Value = Step> {
    let folder = || any::<usize>();
    prop_oneof![
        4 => folder().prop_map(Step::Make),
        3 => (folder(), 0..NAMES.len()).prop_map(|(folder, name)| Step::Rename(folder, name)),
        1 => folder().prop_map(Step::Remove),
        3 => (folder(), 1..IDS.len()).prop_map(|(folder, who)| Step::Give(folder, who)),
        2 => (folder(), 1..IDS.len()).prop_map(|(folder, who)| Step::Take(folder, who)),
        7 => (folder(), 0..FILES.len(), 0..TEXTS.len()).prop_map(|(folder, file, text)| Step::Put(folder, file, text)),
        2 => (folder(), 0..FILES.len()).prop_map(|(folder, file)| Step::Delete(folder, file)),
    ]
}

#[derive(Clone, Debug, Default)]
struct Folder {
    id: String,
    parent: Option<String>,
    name: String,
    seen_by: BTreeSet<usize>,
    files: BTreeMap<&'static str, (String, &'static str)>,
}

struct World<'a> {
    app: &'a TestApp,
    callers: &'a [Caller],
    /// A word that is in every file of this case only.
    word: String,
    named: usize,
    folders: Vec<Folder>,
}

impl World<'_> {
    /// Index of an existing folder, modulo their count.
    fn place(&self, number: usize) -> usize {
        number % self.folders.len()
    }

    fn next_name(&mut self, name: usize) -> String {
        self.named += 1;
        format!("{} {}", NAMES[name], self.named)
    }

    async fn take(&mut self, step: Step) {
        let mei = &self.callers[0];
        match step {
            Step::Make(number) => {
                let parent = self.folders[self.place(number)].id.clone();
                let name = self.next_name(number % NAMES.len());
                let id = folder(mei, &parent, &name).await;
                self.folders.push(Folder { id, parent: Some(parent), name, ..Folder::default() });
            }
            Step::Rename(number, name) => {
                let (place, name) = (self.place(number), self.next_name(name));
                ask(mei, "rename", json!({"dirId": self.folders[place].id, "name": name})).await.ok();
                self.folders[place].name = name;
            }
            Step::Remove(number) => {
                let place = self.place(number);
                if place == 0 {
                    return;
                }
                ask(mei, "delete", json!({"dirId": self.folders[place].id})).await.ok();
                self.folders.remove(place);
                loop {
                    let there: BTreeSet<String> =
                        self.folders.iter().map(|folder| folder.id.clone()).collect();
                    let before = self.folders.len();
                    self.folders
                        .retain(|folder| folder.parent.as_ref().is_none_or(|parent| there.contains(parent)));
                    if self.folders.len() == before {
                        break;
                    }
                }
            }
            Step::Give(number, who) => {
                let place = self.place(number);
                give(mei, &self.folders[place].id, "viewer", &[IDS[who]]).await;
                self.folders[place].seen_by.insert(who);
            }
            Step::Take(number, who) => {
                let place = self.place(number);
                if self.folders[place].seen_by.remove(&who) {
                    let form = json!({"dirId": self.folders[place].id, "target": IDS[who], "targetType": 1});
                    ask(mei, "authorize/remove", form).await.ok();
                }
            }
            Step::Put(number, file, text) => {
                let (place, name, text) = (self.place(number), FILES[file], TEXTS[text]);
                let content = format!("{} {text}", self.word);
                let answer = put_version(mei, &self.folders[place].id, name, content.as_bytes()).await.ok();
                let id = answer.data()["id"].as_str().unwrap().to_owned();
                self.folders[place].files.insert(name, (id, text));
            }
            Step::Delete(number, file) => {
                let place = self.place(number);
                if let Some((id, _)) = self.folders[place].files.remove(FILES[file]) {
                    delete(mei, &[&id]).await.ok();
                }
            }
        }
    }

    fn chain<'a>(&'a self, folder: &'a Folder) -> impl Iterator<Item = &'a Folder> {
        std::iter::successors(Some(folder), |folder| {
            let parent = folder.parent.as_ref()?;
            self.folders.iter().find(|other| other.id == *parent)
        })
    }

    fn expected(&self, who: usize, wanted: &str) -> Vec<String> {
        let mut expected = Vec::new();
        for folder in &self.folders {
            let is_seen = who == 0 || self.chain(folder).any(|folder| folder.seen_by.contains(&who));
            let is_in_path = self.chain(folder).any(|folder| folder.name.to_lowercase().starts_with(wanted));
            for (name, (id, text)) in &folder.files {
                if is_seen && (is_in_path || *text == wanted || name.starts_with(wanted)) {
                    expected.push(id.clone());
                }
            }
        }
        expected.sort();
        expected
    }

    /// Returns the number of items found.
    async fn check(&self, of: &str) -> usize {
        self.app.wait_for_index().await;
        let mut total = 0;
        for (who, caller) in self.callers.iter().enumerate() {
            for wanted in ["tide", "潮水", "amber", "cedar", "second"] {
                let keyword = format!("{} {wanted}", self.word);
                let parameters =
                    [("moduleId", "file"), ("keyword", &keyword), ("limit", "1000"), ("exact", "true")];
                let answer = caller.search(&parameters).await.ok();
                let mut found: Vec<String> = answer.ids().into_iter().map(str::to_owned).collect();
                found.sort();
                assert_eq!(found, self.expected(who, wanted), "{wanted} by {}, {of}", IDS[who]);
                assert_eq!(answer.total(), found.len() as u64, "{of}");
                total += found.len();
            }
        }
        total
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn results_equal_the_model_after_random_changes() {
    let mut runner = TestRunner::new(trawl_seeds::cases(CASES));
    // Every text must be available when its commit returns.
    let (app, acme) = TestApp::start_acme_with(|config| config.storage.text_wait_ms = 10_000).await;
    let callers = people(&app, &acme, IDS).await;
    let mut found = 0;
    for case in 0..trawl_seeds::count(CASES) {
        let steps = proptest::collection::vec(any_step(), 8..28).new_tree(&mut runner).unwrap().current();
        let case = usize::try_from(case).unwrap();
        let mut world = World {
            app: &app,
            callers: &callers,
            word: word_of_case(case),
            named: 100 * case,
            folders: Vec::new(),
        };
        let name = format!("Top {case}");
        let id = folder(&callers[0], "", &name).await;
        world.folders.push(Folder { id, name, ..Folder::default() });
        for (number, step) in steps.iter().enumerate() {
            world.take(*step).await;
            found += world.check(&format!("after step {number} of {steps:?}")).await;
        }
        if case % 4 == 3 {
            app.app.maintenance.make_round().await.unwrap();
            found += world.check("after the maintenance").await;
        }
    }
    assert!(found > 0, "nothing was ever found");
}
