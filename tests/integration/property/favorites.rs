//! Lists of favorites against a model.

use std::collections::BTreeSet;

use proptest::{collection::vec, prelude::*, sample::select, strategy::ValueTree, test_runner::TestRunner};
use serde_json::{Value, json};

use crate::util::{
    app::TestApp,
    caller::Caller,
    favorites::{add, label, list, remove},
    items::user,
};

const CASES: u32 = 12;
const ITEMS: usize = 12;
const LABELS: [&str; 3] = ["red", "Red", "蓝"];
/// Characters, and their normal form in searches.
const SIGNS: [(&str, &str); 14] = [
    ("a", "a"),
    ("A", "a"),
    ("b", "b"),
    ("é", "e"),
    ("E", "e"),
    ("Σ", "σ"),
    ("ς", "σ"),
    ("國", "国"),
    ("国", "国"),
    ("%", "%"),
    ("_", "_"),
    ("\\", "\\"),
    ("'", "'"),
    ("Ａ", "a"),
];

/// Indexes into [`SIGNS`].
type Text = Vec<usize>;

#[derive(Clone, Debug)]
enum Step {
    Add { item: usize, content_type: i64, texts: [Text; 4], labels: BTreeSet<usize>, sync: bool },
    Remove { item: usize, sync: bool },
    Label { item: usize, labels: BTreeSet<usize> },
    List { content_types: Vec<i64>, keyword: Text, label: Option<usize>, limit: usize },
}

fn any_text() -> impl Strategy<Value = Text> {
    vec(0..SIGNS.len(), 0..4)
}

fn any_step() -> impl Strategy<Value = Step> {
    let labels = || prop::collection::btree_set(0..LABELS.len(), 0..3);
    let texts = || [any_text(), any_text(), any_text(), any_text()];
    let types = prop_oneof![2 => Just(Vec::new()), 3 => vec(select(vec![1_i64, 2, 8]), 1..3)];
    let keyword = prop_oneof![1 => Just(Vec::new()), 3 => vec(0..SIGNS.len(), 1..3)];
    prop_oneof![
        4 => (0..ITEMS, select(vec![1_i64, 2, 8]), texts(), labels(), any::<bool>()).prop_map(
            |(item, content_type, texts, labels, sync)| Step::Add { item, content_type, texts, labels, sync }
        ),
        2 => (0..ITEMS, any::<bool>()).prop_map(|(item, sync)| Step::Remove { item, sync }),
        1 => (0..ITEMS, labels()).prop_map(|(item, labels)| Step::Label { item, labels }),
        4 => (types, keyword, prop::option::weighted(0.3, 0..LABELS.len()), 1_usize..5).prop_map(
            |(content_types, keyword, label, limit)| Step::List { content_types, keyword, label, limit }
        ),
    ]
}

fn written(text: &Text) -> String {
    text.iter().map(|sign| SIGNS[*sign].0).collect()
}

fn folded(text: &Text) -> String {
    text.iter().map(|sign| SIGNS[*sign].1).collect()
}

#[derive(Clone, Debug)]
struct Kept {
    item: usize,
    content_type: i64,
    texts: [Text; 4],
    labels: BTreeSet<usize>,
    favorite: bool,
    of_feed: bool,
}

#[derive(Default)]
struct Model(Vec<Kept>);

impl Model {
    fn place(&self, item: usize) -> Option<usize> {
        self.0.iter().position(|kept| kept.item == item)
    }

    fn add(&mut self, mut new: Kept) -> u16 {
        if let Some(place) = self.place(new.item) {
            if self.0[place].favorite {
                return 409;
            }
            new.of_feed = true;
            self.0.remove(place);
        }
        self.0.push(new);
        200
    }

    fn remove(&mut self, item: usize, sync: bool) -> u16 {
        let Some(place) = self.place(item) else { return 404 };
        let kept = &mut self.0[place];
        if !kept.favorite && !sync {
            return 404;
        }
        if sync || kept.content_type == 8 || !kept.of_feed {
            self.0.remove(place);
        } else {
            kept.favorite = false;
        }
        200
    }

    fn list(&self, content_types: &[i64], keyword: &Text, label: Option<usize>) -> Vec<String> {
        let is_of_types = |kept: &&Kept| {
            if content_types.is_empty() {
                return kept.favorite;
            }
            kept.favorite && content_types.contains(&kept.content_type)
                || kept.of_feed && content_types.contains(&8)
        };
        let keyword = folded(keyword);
        let holds = |kept: &&Kept| kept.texts.iter().any(|text| folded(text).contains(&keyword));
        let has_label = |kept: &&Kept| label.is_none_or(|label| kept.labels.contains(&label));
        let listed = self.0.iter().rev().filter(is_of_types).filter(holds).filter(has_label);
        listed.map(|kept| kept.item.to_string()).collect()
    }
}

struct History {
    caller: Caller,
    label_ids: Vec<String>,
    model: Model,
    full: usize,
}

impl History {
    fn ids_of(&self, labels: &BTreeSet<usize>) -> Value {
        json!(labels.iter().map(|label| &self.label_ids[*label]).collect::<Vec<_>>())
    }

    async fn take(&mut self, step: Step) {
        match step {
            Step::Add { item, content_type, texts, labels, sync } => {
                let [content, keyword, source_name, display_name] = &texts;
                let form = json!({
                    "itemId": item.to_string(), "contentType": content_type, "content": written(content),
                    "keyword": written(keyword), "sourceName": written(source_name),
                    "sourceDisplayName": written(display_name), "labelList": self.ids_of(&labels), "syncBlogFavor": sync,
                });
                let of_feed = sync || content_type == 8;
                let expected =
                    self.model.add(Kept { item, content_type, texts, labels, favorite: true, of_feed });
                assert_eq!(add(&self.caller, &form).await.status, expected, "{form}");
            }
            Step::Remove { item, sync } => {
                let query = [("syncBlogFavor", if sync { "true" } else { "false" })];
                let answer = remove(&self.caller, &item.to_string(), &query).await;
                assert_eq!(answer.status, self.model.remove(item, sync), "{}", answer.text);
            }
            Step::Label { item, labels } => {
                let path = format!("/v1/favorite/update?favoriteId={item}");
                let answer = self.caller.post(&path, &self.ids_of(&labels)).await;
                let place = self.model.place(item);
                assert_eq!(answer.status, if place.is_some() { 200 } else { 404 }, "{}", answer.text);
                if let Some(place) = place {
                    self.model.0[place].labels = labels;
                }
            }
            Step::List { content_types, keyword, label, limit } => {
                let expected = self.model.list(&content_types, &keyword, label);
                let met = self.walk(&content_types, &keyword, label, limit).await;
                assert_eq!(met, expected, "{content_types:?} {:?} {label:?}", written(&keyword));
                self.full += usize::from(!met.is_empty());
            }
        }
    }

    async fn walk(&self, types: &[i64], keyword: &Text, label: Option<usize>, limit: usize) -> Vec<String> {
        let types = types.iter().map(i64::to_string).collect::<Vec<_>>().join(",");
        let (keyword, limit_text) = (written(keyword), limit.to_string());
        let (mut met, mut cursor) = (Vec::new(), String::new());
        loop {
            let mut query = vec![
                ("contentTypes", types.as_str()),
                ("keyword", &keyword),
                ("limit", &limit_text),
                ("cursor", &cursor),
            ];
            query.extend(label.map(|label| ("labelName", LABELS[label])));
            let page = list(&self.caller, &query).await;
            met.extend(page.iter().map(|favorite| favorite["itemId"].as_str().unwrap().to_owned()));
            if page.len() < limit {
                return met;
            }
            assert!(met.len() <= ITEMS, "the walk does not end");
            cursor = page[limit - 1]["createdDate"].to_string();
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn every_list_equals_the_model() {
    let mut runner = TestRunner::new(trawl_seeds::cases(CASES));
    let cases = trawl_seeds::count(CASES);
    let (app, acme) = TestApp::start_with_acme().await;
    let people: Vec<Value> = (0..cases).map(|number| user(&format!("p{number}"), "")).collect();
    app.sync(&acme.caller, "users", &json!(people)).await;
    let mut full = 0;
    for number in 0..cases {
        let caller = app.user(&acme, &format!("p{number}")).await;
        let mut label_ids = Vec::new();
        for name in LABELS {
            label_ids.push(label(&caller, name).await);
        }
        let mut history = History { caller, label_ids, model: Model::default(), full: 0 };
        let steps = vec(any_step(), 1..60).new_tree(&mut runner).unwrap().current();
        println!("p{number}: {steps:?}");
        for step in steps {
            history.take(step).await;
        }
        full += history.full;
    }
    assert!(full > 0, "no list had items");
}
