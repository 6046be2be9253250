//! Requests made of the query lists of `../shared/data/queries` and of words of the documents.

use std::path::Path;
use std::sync::Arc;

use serde::Deserialize;
use trawl_engine::{Document, Query, Request, Scope, Start};

use crate::corpus::{GROUPS, lines};

const LIMIT: usize = 10;
const WHOLE_TIES: usize = 1_000;
const DAY: i64 = 86_400_000;
pub(crate) const NOW: i64 = 1_790_000_000_000;

const CHINESE: &str = "zh_zhihu_top_search";
const ENGLISH: &str = "en_msmarco_dev_queries";

const CHINESE_SCOPES: [(i64, &str); 4] = [(1, "article"), (1, "feed"), (2, "todo"), (2, "feed")];
const ENGLISH_SCOPES: [(i64, &str); 5] =
    [(1, "news"), (1, "comments"), (1, "file"), (1, "todo"), (2, "news")];

/// A request, with the keyword that it was parsed from.
#[derive(Debug, Clone)]
pub(crate) struct Question {
    pub(crate) keyword: String,
    pub(crate) request: Request,
    /// Asks for the following page in time order, too.
    pub(crate) goes_on: bool,
}

#[derive(Deserialize)]
struct Row {
    query: String,
}

/// Asks every `step`th query of both lists.
///
/// Each in both orders, and in one further form by turns.
pub(crate) fn list_questions(data: &Path, step: usize) -> Vec<Question> {
    let lists = [(CHINESE, &CHINESE_SCOPES[..]), (ENGLISH, &ENGLISH_SCOPES[..])];
    let of_list = |(list, scopes): (&str, &[(i64, &'static str)])| {
        let file = data.join("queries").join(list).with_extension("jsonl.zst");
        let queries = lines(&file).step_by(step).map(|row| serde_json::from_str::<Row>(&row).unwrap().query);
        let of_query = |(number, query): (usize, String)| {
            let (tenant, module) = scopes[number % scopes.len()];
            query_questions(number, &query, &Scope::new(tenant, module))
        };
        queries.enumerate().flat_map(of_query).collect::<Vec<_>>()
    };
    lists.into_iter().flat_map(of_list).collect()
}

/// Asks words of every `step`th document, so that most find something.
pub(crate) fn document_questions(documents: &[Document], step: usize) -> Vec<Question> {
    let of_document = |(number, document): (usize, &Document)| {
        let text = document.text.as_deref().unwrap_or(&document.brief);
        let text = if document.title.is_empty() { text } else { &document.title };
        let words: String = text.chars().take(24).collect();
        let mut questions = query_questions(number, &words, &document.scope);
        let start: String = text.chars().take(3 + number % 3).collect();
        questions.push(question(number, &document.scope, start.clone(), newest()));
        questions.push(question(number, &document.scope, start, best(0)));
        if let Some(author) = Some(&document.author).filter(|author| !author.is_empty()) {
            let mut of_author = question(number, &document.scope, longest_word(text), newest());
            of_author.request.author = Some(author.clone());
            questions.push(of_author);
            questions.push(question(number, &document.scope, format!("author:\"{author}\""), newest()));
        }
        questions
    };
    documents.iter().step_by(step).enumerate().flat_map(of_document).collect()
}

fn query_questions(number: usize, query: &str, scope: &Scope) -> Vec<Question> {
    let ask = |keyword: &str, start: Start| question(number, scope, keyword.to_owned(), start);
    let word = longest_word(query);
    let whole = format!("{word} ");
    let from = NOW - DAY * 900;
    let further = match number % 13 {
        0 => ask(&format!("\"{query}\""), newest()),
        1 => ask(&last_words(query), newest()),
        2 => Question { goes_on: true, ..ask(&whole, newest()) },
        3 => ask(&whole, Start::Time { after: None, whole_ties: Some(WHOLE_TIES) }),
        4 => Question { goes_on: true, ..ask(&whole, Start::Time { after: None, whole_ties: Some(3) }) },
        5 => with(ask(&whole, newest()), |request| request.limit = 0),
        6 => {
            with(ask(&whole, newest()), |request| (request.from, request.to) = (Some(from), Some(NOW - DAY)))
        }
        7 => ask(&format!("{word} -{}", last_words(query)), newest()),
        8 => ask(&word.chars().take(3).collect::<String>(), newest()),
        9 => ask(query, best(10)),
        10 => ask(query, best(100)),
        11 => with(ask(query, best(0)), |request| (request.from, request.to) = (Some(from), None)),
        _ => ask(&format!("\"{word}\" {query}"), best(0)),
    };
    vec![ask(query, newest()), ask(query, best(0)), further]
}

fn question(number: usize, scope: &Scope, keyword: String, start: Start) -> Question {
    let principals = match number % 4 {
        0 => vec![],
        1 => vec!["u:1".to_owned()],
        _ => vec![format!("g:{}", number % GROUPS), format!("g:{}", (number + 3) % GROUPS)],
    };
    let query = Arc::new(Query::parse(&keyword));
    let all = Request::total_of(&Arc::new(scope.clone()), &principals.into(), query);
    let request = Request { start, limit: LIMIT, ..all };
    Question { keyword, request, goes_on: false }
}

fn with(mut question: Question, change: impl FnOnce(&mut Request)) -> Question {
    change(&mut question.request);
    question
}

fn newest() -> Start {
    Start::Time { after: None, whole_ties: None }
}

fn best(skip: usize) -> Start {
    Start::relevance(skip, NOW)
}

fn longest_word(text: &str) -> String {
    let words = Query::parse(text).words;
    words.into_iter().max_by_key(|word| word.term.len()).map(|word| word.term).unwrap_or_default()
}

fn last_words(text: &str) -> String {
    let words = Query::parse(text).words;
    let last: Vec<&str> = words.iter().rev().take(2).rev().map(|word| word.term.as_str()).collect();
    last.join(" ")
}

/// Words of documents with one letter too few, doubled, exchanged or swapped.
pub(crate) fn misspelt(documents: &[Document], step: usize) -> Vec<(Scope, String)> {
    let of_document = |(number, document): (usize, &Document)| {
        let text = format!("{} {}", document.title, document.brief);
        let words = Query::parse(&text.chars().take(200).collect::<String>()).words;
        let is_long = |word: &String| word.is_ascii() && word.len() > 4 || word.chars().count() > 2;
        let word = words.into_iter().map(|word| word.term).filter(is_long).nth(number % 3)?;
        let mut letters: Vec<char> = word.chars().collect();
        let at = 1 + number % (letters.len() - 2);
        match number % 4 {
            0 => drop(letters.remove(at)),
            1 => letters.insert(at, letters[at]),
            2 => letters[at] = 'q',
            _ => letters.swap(at, at + 1),
        }
        Some((document.scope.clone(), letters.into_iter().collect()))
    };
    documents.iter().step_by(step).enumerate().filter_map(of_document).collect()
}
