//! People who search with pauses, and two applications.

use std::{
    collections::BTreeSet,
    sync::{Arc, atomic::Ordering},
    time::Duration,
};

use reqwest::Method;
use serde_json::{Value, json};
use tokio::{task::JoinSet, time::sleep};

use super::{
    foreign::WIKI,
    texts,
    workplace::{Account, NORTHWIND, PASSWORD, Workplace, logins},
};
use crate::util::{answer::Answer, caller::Caller, items::item};

/// Kinds of clients in the journal.
pub(super) const PERSON: &str = "person";
pub(super) const WRITER: &str = "writer";
pub(super) const READER: &str = "reader";
/// A person who signs in.
pub(super) const ENTRANT: &str = "entrant";
/// An answer that says that something is missing.
pub(super) const PARTIAL: u16 = 206;

/// Milliseconds between a person's searches.
const PAUSES: std::ops::Range<u64> = 200..1_000;
/// A word of the writer's items alone.
const WRITTEN_WORD: &str = "zzlighthouse";
/// Time within which a write is searchable, or pages say that the index is behind.
const INDEX_TIME: Duration = Duration::from_secs(5);
const WRITE_INTERVAL: Duration = Duration::from_millis(500);
const SIGN_IN_INTERVAL: Duration = Duration::from_secs(2);
const WORDS: usize = 5_000;

/// Lets everybody go on until the set is dropped.
pub(super) fn begin(workplace: &Arc<Workplace>) -> JoinSet<()> {
    let mut all = JoinSet::new();
    let words: Arc<[(&str, String)]> = words().into();
    for number in 0..workplace.people.len() {
        all.spawn(search(Arc::clone(workplace), number, Arc::clone(&words)));
    }
    all.spawn(write(Arc::clone(workplace)));
    all.spawn(sign_in(Arc::clone(workplace)));
    all.spawn(read(Arc::clone(workplace)));
    all
}

/// Modules, and words of their texts.
fn words() -> Vec<(&'static str, String)> {
    let english = texts::english().into_iter().take(WORDS).filter_map(|text| {
        text.split(|character: char| !character.is_ascii_alphabetic())
            .find(|word| word.len() > 3)
            .map(str::to_lowercase)
    });
    let chinese =
        texts::chinese().into_iter().take(WORDS).map(|text| text.chars().take(2).collect::<String>());
    let wiki = (0..WORDS).map(|number| (WIKI, format!("harbour {number}")));
    english.map(|word| ("article", word)).chain(chinese.map(|word| ("feed", word))).chain(wiki).collect()
}

async fn search(workplace: Arc<Workplace>, number: usize, words: Arc<[(&str, String)]>) {
    loop {
        sleep(Duration::from_millis(fastrand::u64(PAUSES)) * workplace.slowness).await;
        let (module, word) = &words[fastrand::usize(..words.len())];
        let account = &workplace.people[number];
        let first = page(&workplace, PERSON, account, &[("moduleId", module), ("keyword", word)]).await;
        if let Some(cursor) = first.and_then(|page| page.cursor()) {
            let next = [("moduleId", *module), ("keyword", word), ("cursor", &cursor)];
            page(&workplace, PERSON, account, &next).await;
        }
    }
}

/// A page of a search, if it is whole.
async fn page(
    workplace: &Workplace,
    client: &'static str,
    account: &Account,
    parameters: &[(&str, &str)],
) -> Option<Answer> {
    let mut whole = None;
    let call = async {
        let search = |caller: &Caller| caller.request(Method::POST, "/contents/search").query(parameters);
        let Some(answer) = workplace.ask(account, search).await else { return 0 };
        let status =
            if answer.status == 200 && answer.body["partial"] != false { PARTIAL } else { answer.status };
        whole = (status == 200).then_some(answer);
        status
    };
    workplace.journal.write_down(client, call).await;
    whole
}

/// Signs people in, one after another, each from a new address.
async fn sign_in(workplace: Arc<Workplace>) {
    let logins = logins();
    for login in logins.iter().cycle() {
        workplace.sign_in(ENTRANT, (NORTHWIND, login), PASSWORD).await;
        sleep(SIGN_IN_INTERVAL).await;
    }
}

async fn write(workplace: Arc<Workplace>) {
    for number in 0.. {
        let id = format!("written-{number}");
        let body: Value = json!([item(&id, &format!("{WRITTEN_WORD} {number}"), 1_700_000_000_000)]);
        let request = |caller: &Caller| caller.request(Method::PUT, "/v1/contents/article").json(&body);
        let answer = workplace.call(WRITER, &workplace.writer, request).await;
        if answer.is_some_and(|answer| answer.status == 200) {
            workplace.written.lock().unwrap().insert(id);
        }
        sleep(WRITE_INTERVAL).await;
    }
}

/// Walks through all pages again and again.
///
/// A walk of whole pages meets all that was acknowledged before it.
async fn read(workplace: Arc<Workplace>) {
    loop {
        let before = workplace.written.lock().unwrap().clone();
        sleep(INDEX_TIME).await;
        if let Some(met) = walk(&workplace).await {
            workplace.walks.fetch_add(1, Ordering::Relaxed);
            workplace.lost.lock().unwrap().extend(before.difference(&met).cloned());
        }
    }
}

/// Ids of all items of the writer; none if a page was not whole.
pub(super) async fn walk(workplace: &Workplace) -> Option<BTreeSet<String>> {
    let (mut met, mut cursor) = (BTreeSet::new(), None::<String>);
    loop {
        let mut parameters = vec![("moduleId", "article"), ("keyword", WRITTEN_WORD), ("limit", "100")];
        parameters.extend(cursor.as_deref().map(|cursor| ("cursor", cursor)));
        let page = page(workplace, READER, &workplace.writer, &parameters).await?;
        met.extend(page.ids().into_iter().map(str::to_owned));
        cursor = page.cursor();
        if cursor.is_none() {
            return Some(met);
        }
    }
}
