//! Content that a person may not see changes no answer.
//!
//! Neither do content and vocabulary of other tenants.
//!
//! Two tenants show one person the same items. One of them also has items that the person may not see.

use std::time::Duration;

use futures::{StreamExt, stream};
use proptest::{collection::vec, prelude::*, sample::select, strategy::ValueTree, test_runner::TestRunner};
use reqwest::Method;
use serde_json::{Value, json};

use crate::util::{
    answer::Answer,
    app::TestApp,
    caller::{Caller, send},
    items::{NEW_YEAR, item, user},
    opensearch,
    sizes::size,
};

const AT_ONCE: usize = 8;
/// Over OpenSearch, which answers a tenth as fast.
const OPENSEARCH_PAIRS: u32 = 300;
/// A single busy node exceeds its timeout at more.
const OPENSEARCH_AT_ONCE: usize = 1;
/// Tries of a question that a busy node answers late.
const TRIES: u32 = 30;
const VISIBLE: usize = 60;
const HIDDEN: usize = 120;

/// Words of visible items.
const WORDS: [&str; 27] = [
    "harbour",
    "budget",
    "leave",
    "policy",
    "warehouse",
    "carrier",
    "invoice",
    "travel",
    "audit",
    "contract",
    "forklift",
    "pallet",
    "报销",
    "流程",
    "苏州",
    "仓库",
    "合同",
    "预算",
    "培训",
    "ISO 27001",
    "C-2052",
    "2026-03-15",
    "1,200",
    "Wi-Fi",
    "联通",
    "公司",
    "周海岚",
];
/// Pinyin of visible and of hidden titles.
const PINYIN: [&str; 8] =
    ["baoxiao", "baoxiaoliucheng", "suzhou", "cangchu", "heyue", "yusuanhetong", "bxlc", "szck"];
/// Words of hidden items, like the visible ones or their misspellings.
const HIDDEN_WORDS: [&str; 27] = [
    "harbor",
    "budge",
    "leaves",
    "polity",
    "warehousing",
    "carriers",
    "invoke",
    "travail",
    "audio",
    "contact",
    "forklore",
    "palette",
    "抱销",
    "流呈",
    "苏洲",
    "仓储",
    "合约",
    "预报",
    "陪训",
    "ISO 27002",
    "C-2053",
    "2026-03-16",
    "1,201",
    "Wi-Max",
    "联通公司",
    "电信",
    "周海峰",
];

#[derive(Clone, Debug)]
enum Question {
    Search { keyword: String, sort: &'static str, module: &'static str },
    Suggest(String),
}

fn any_word() -> impl Strategy<Value = String> {
    let known = [&WORDS[..], &HIDDEN_WORDS, &PINYIN].concat();
    let word = select(known).prop_map(str::to_owned);
    let misspelt = (word.clone(), any::<prop::sample::Index>(), select(vec!['a', 'e', 'x', 't'])).prop_map(
        |(word, place, letter)| {
            let mut letters: Vec<char> = word.chars().collect();
            let place = place.index(letters.len());
            letters[place] = letter;
            letters.into_iter().collect()
        },
    );
    let begun = (word.clone(), any::<prop::sample::Index>()).prop_map(|(word, end)| {
        let letters: Vec<char> = word.chars().collect();
        letters[..=end.index(letters.len())].iter().collect()
    });
    prop_oneof![4 => word, 2 => misspelt, 1 => begun]
}

fn any_question() -> impl Strategy<Value = Question> {
    let keyword = vec(any_word(), 1..4).prop_map(|words| words.join(" "));
    let search = (keyword, select(vec!["time", "relevance"]), select(vec!["article", "news"]))
        .prop_map(|(keyword, sort, module)| Question::Search { keyword, sort, module });
    let suggest = any_word().prop_map(Question::Suggest);
    prop_oneof![3 => search, 1 => suggest]
}

/// Half of those that Mei sees are open.
fn articles(prefix: &str, titles: &[Vec<String>], author: &str, visible_to: &str) -> Vec<Value> {
    let made = |(number, words): (usize, &Vec<String>)| {
        let time = NEW_YEAR + i64::try_from(number).unwrap();
        let mut made = item(&format!("{prefix}{number}"), &words.join(" "), time);
        made["author"] = json!(author);
        if visible_to != "mei" || number % 2 == 1 {
            made["visibility"] = json!({"users": [visible_to]});
        }
        made
    };
    titles.iter().enumerate().map(made).collect()
}

/// All that an answer tells.
fn told(answer: &Answer) -> Value {
    let field = |name: &str| answer.body.get(name).cloned();
    json!([answer.ids(), answer.total(), field("corrected"), field("corrections"), field("relaxed")])
}

/// The answer, once the engine can be reached.
async fn answered(send: impl AsyncFn() -> Answer) -> Answer {
    for _ in 1..TRIES {
        let answer = send().await;
        if answer.status != 503 || !opensearch::is_engine() {
            return answer.ok();
        }
        // The answer asks for a short pause.
        tokio::time::sleep(Duration::from_secs(1)).await;
    }
    send().await.ok()
}

async fn ask(caller: &Caller, question: &Question) -> Value {
    match question {
        Question::Search { keyword, sort, module } => {
            let parameters =
                [("keyword", keyword.as_str()), ("sort", sort), ("moduleId", module), ("limit", "200")];
            told(&answered(async || caller.search(&parameters).await).await)
        }
        Question::Suggest(prefix) => {
            let parameters = [("prefix", prefix.as_str()), ("limit", "20")];
            let request = || caller.request(Method::GET, "/contents/suggest").query(&parameters);
            let answer = answered(async || send(request()).await).await;
            // Each tenant's modules have ids of their own.
            let told = |suggestion: &Value| {
                let is_module = suggestion["kind"] == "module";
                let id = if is_module { &suggestion["module"] } else { &suggestion["id"] };
                json!([suggestion["text"], suggestion["kind"], id])
            };
            answer.items().iter().map(told).collect()
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn unseen_content_and_other_tenants_change_no_answer() {
    let mut runner = TestRunner::new(trawl_seeds::cases(1));
    let mut draw = |words: Vec<&'static str>, count: usize| {
        let title = vec(select(words).prop_map(str::to_owned), 1..5);
        vec(title, count).new_tree(&mut runner).unwrap().current()
    };
    let (seen, unseen) = (draw(WORDS.to_vec(), VISIBLE), draw([WORDS, HIDDEN_WORDS].concat(), HIDDEN));
    let app = TestApp::start().await;
    let mut callers = Vec::new();
    for code in ["acme", "mirror"] {
        let application = app.tenant(code).await;
        app.sync(&application.caller, "users", &json!([user("mei", ""), user("omar", "")])).await;
        for module in ["article", "news"] {
            let visible = articles("v", &seen, "Ann Lee", "mei");
            app.put_contents(&application.caller, module, &visible).await;
            if code == "acme" {
                let hidden = articles("h", &unseen, "Zhang Hidden", "omar");
                app.put_contents(&application.caller, module, &hidden).await;
            }
        }
        callers.push(app.user(&application, "mei").await);
    }
    let other = app.tenant("other").await;
    app.put_contents(&other.caller, "article", &articles("o", &unseen, "Zhang Hidden", "mei")).await;
    let vocabulary = json!({
        "synonyms": [["harbour", "budget"], ["报销", "仓库"]], "neverCorrect": ["harbor", "buget"],
        "pinned": [{"keyword": "harbour", "items": [{"module": "article", "id": "v1"}]}],
    });
    app.operator().await.caller.on("other").put("/admin/v1/vocabulary", &vocabulary).await.ok();

    let (pairs, at_once) = if opensearch::is_engine() {
        (OPENSEARCH_PAIRS, OPENSEARCH_AT_ONCE)
    } else {
        (size(2_000, 10_000), AT_ONCE)
    };
    let questions: Vec<Question> = (0..trawl_seeds::count(pairs))
        .map(|_| any_question().new_tree(&mut runner).unwrap().current())
        .collect();
    stream::iter(&questions)
        .for_each_concurrent(at_once, async |question| {
            let [acme, mirror] = [&callers[0], &callers[1]].map(|caller| ask(caller, question));
            let (acme, mirror) = futures::join!(acme, mirror);
            assert_eq!(acme, mirror, "{question:?}");
        })
        .await;
}
