//! Pages in time order, beside a bare handler over the same index.

use serde_json::Value;

use crate::{
    Scale,
    bare::{Bare, Word},
    common::{
        data_directory::DataDirectory,
        interleave::{self, interleave},
        load::{Connection, Target, block_on},
        report::{Report, millis},
        server::Server,
    },
    corpus::{self, CHINESE, ENGLISH},
    peers,
};

const LIMIT: usize = 10;
const DEEP_PAGE: usize = 1_000;
const CLIENTS: [usize; 2] = [1, 16];
/// The interface's limit.
const LARGEST_LIMIT: usize = 1_000;

/// Both on one data directory.
struct Servers {
    trawl: Server,
    bare: Server,
    token: String,
}

struct Case {
    name: &'static str,
    module: &'static str,
    word: Word,
    page: usize,
}

pub(crate) fn run(scale: &Scale, report: &mut Report) {
    writeln!(report, "\n## A page of {LIMIT} in time order\n");
    writeln!(
        report,
        "trawl / a bare axum handler over tantivy on the same index. Milliseconds. Bars: median ≤ 1.2 ×, \
         p99 ≤ 1.4 ×, throughput ≥ 0.85 ×.\n"
    );
    writeln!(
        report,
        "| documents | word | matches | page | 1 client: median | × | p99, × | per second | × \
         | 16 clients: median | × | p99, × | per second | × |\n\
         |---|---|---|---|---|---|---|---|---|---|---|---|---|---|"
    );
    let medians = scale.documents.map(|documents| tables(documents, scale, report));
    writeln!(report, "\n## Growth\n");
    writeln!(report, "trawl's medians for one client, in milliseconds.\n");
    writeln!(
        report,
        "| word | page | {} | {} documents | × (bar 1.5) |",
        scale.documents[0], scale.documents[1]
    );
    writeln!(report, "|---|---|---|---|---|");
    let [small, large] = &medians;
    for (case, small) in small {
        if let Some((_, large)) = large.iter().find(|(of, _)| of == case) {
            let times = large / small;
            writeln!(report, "| {case} | {} | {} | {times:.2} |", millis(*small), millis(*large));
        }
    }
    writeln!(
        report,
        "\n| word, {} documents | page 1 | page {DEEP_PAGE} | × (bar 1.3) |",
        scale.documents[1]
    );
    writeln!(report, "|---|---|---|---|");
    for (case, deep) in large.iter().filter(|(case, _)| case.ends_with(&format!("| {DEEP_PAGE}"))) {
        let first_case = case.replace(&format!("| {DEEP_PAGE}"), "| 1");
        if let Some((_, first)) = large.iter().find(|(of, _)| *of == first_case) {
            let name = case.split(" |").next().unwrap_or_default();
            let times = deep / first;
            writeln!(report, "| {name} | {} | {} | {times:.2} |", millis(*first), millis(*deep));
        }
    }
}

/// Returns trawl's medians for one client.
fn tables(documents: usize, scale: &Scale, report: &mut Report) -> Vec<(String, f64)> {
    let prepared = corpus::prepare(documents);
    let both = Servers::start(&prepared);
    let mut medians = Vec::new();
    for case in cases(&both, &prepared) {
        let Some(targets) = both.targets(&case) else { continue };
        let Case { name, word: Word { text, documents: matches }, page, .. } = &case;
        let [one, many] = CLIENTS.map(|clients| interleave(&targets, clients, scale.slices));
        let cells = [&one, &many].map(|[ours, peer]| interleave::compared(ours, peer)).join(" | ");
        writeln!(report, "| {documents} | {name} `{text}` | {matches} | {page} | {cells} |");
        medians.push((format!("{name} | {page}"), one[0].quantile(0.5)));
    }
    medians
}

/// A medium word, from one to 256 clients.
pub(crate) fn by_clients(scale: &Scale, report: &mut Report) {
    let documents = scale.documents[0];
    let prepared = corpus::prepare(documents);
    let both = Servers::start(&prepared);
    let cases = cases(&both, &prepared);
    let case = cases.iter().find(|case| case.name == "medium, English" && case.page == 1).unwrap();
    let targets = both.targets(case).unwrap();
    writeln!(report, "\n## A page of {LIMIT} by the number of clients\n");
    writeln!(
        report,
        "`{}` among {documents} documents; trawl / a bare axum handler. Milliseconds. Two threads make the load.\n",
        case.word.text
    );
    writeln!(report, "| clients | median | × | p99, × | per second | × |\n|---|---|---|---|---|---|");
    for clients in (0..=8).map(|power| 1 << power) {
        let [ours, peer] = interleave(&targets, clients, scale.slices);
        writeln!(report, "| {clients} | {} |", interleave::compared(&ours, &peer));
    }
}

/// A common, a medium and a rare word of each language.
///
/// Each has its first page and a deep one.
fn cases(both: &Servers, prepared: &DataDirectory) -> Vec<Case> {
    let bare = Bare::open(&corpus::index_of(prepared), prepared.registered.tenant.id);
    // The script tells the language; made-up texts match both.
    let is_chinese = |word: &str| !word.is_empty() && !word.is_ascii();
    let is_english = |word: &str| word.len() > 2 && word.bytes().all(|byte| byte.is_ascii_lowercase());
    let mut cases = Vec::new();
    for (module, names) in [
        (CHINESE, ["common, Chinese", "medium, Chinese", "rare, Chinese"]),
        (ENGLISH, ["common, English", "medium, English", "rare, English"]),
    ] {
        let all = bare.words(module, u64::MAX, str::is_empty).first().map_or(0, |all| all.documents);
        for (name, share) in names.into_iter().zip([10, 100, 10_000]) {
            let fits = |word: &str| if module == CHINESE { is_chinese(word) } else { is_english(word) };
            let mut words = bare.words(module, all / share, fits);
            if words.is_empty() {
                words = bare.words(module, all / share, |word| word.len() > 2);
            }
            // Only words that are their own stem compare.
            let Some(word) = words.into_iter().find(|word| both.agree_on(module, word)) else { continue };
            for page in [1, DEEP_PAGE] {
                cases.push(Case { name, module, word: word.clone(), page });
            }
        }
    }
    cases
}

impl Word {
    /// The rows of a first page.
    fn rows(&self) -> u64 {
        self.documents.min(LIMIT as u64)
    }
}

impl Servers {
    fn start(prepared: &DataDirectory) -> Self {
        let trawl = Server::trawl(prepared.directory.path(), &[]);
        let index = corpus::index_of(prepared);
        let tenant_id = prepared.registered.tenant.id.to_string();
        let bare = Server::peer(&[peers::PAGES, index.to_str().unwrap(), &tenant_id]);
        Self { token: trawl.token(prepared), trawl, bare }
    }

    fn agree_on(&self, module: &str, word: &Word) -> bool {
        let target = self.trawl_target(module, &word.text, None, String::new());
        let answer = ask(&target);
        answer["total"] == word.documents && answer["count"] == word.rows()
    }

    /// None if the word has no such page.
    fn targets(&self, case: &Case) -> Option<[Target; 2]> {
        let Case { module, word, .. } = case;
        let (cursor, before) = match self.position(case)? {
            Some((cursor, before)) => (Some(cursor), Some(before)),
            None => (None, None),
        };
        let expected = format!("\"total\":{},\"count\":{}", word.documents, word.rows());
        let before = before.map(|before| format!("&before={before}")).unwrap_or_default();
        let bare = Target {
            address: self.bare.address,
            method: "GET",
            path: format!("/page?module={module}&word={}&limit={LIMIT}{before}", encode(&word.text)),
            token: None,
            body: None,
            expected: expected.clone(),
        };
        Some([self.trawl_target(module, &word.text, cursor.as_deref(), expected), bare])
    }

    /// The start as trawl's cursor and as a time.
    #[allow(clippy::option_option, reason = "no page, the first page, a later one")]
    fn position(&self, case: &Case) -> Option<Option<(String, i64)>> {
        let mut left = (case.page - 1) * LIMIT;
        let mut position: Option<(String, i64)> = None;
        while left > 0 {
            let limit = left.min(LARGEST_LIMIT);
            let cursor = position.as_ref().map(|(cursor, _)| cursor.as_str());
            let mut target = self.trawl_target(case.module, &case.word.text, cursor, String::new());
            target.path =
                target.path.replace(&format!("limit={LIMIT}"), &format!("limit={limit}&paging=cursor"));
            let answer = ask(&target);
            let last = answer["data"].as_array()?.last()?["displayTime"].as_i64()?;
            position = Some((answer["cursor"].as_str()?.to_owned(), last));
            left -= limit;
        }
        let before = u64::try_from((case.page - 1) * LIMIT).ok()?;
        (case.page == 1 || case.word.documents >= before + LIMIT as u64).then_some(position)
    }

    fn trawl_target(&self, module: &str, word: &str, cursor: Option<&str>, expected: String) -> Target {
        let cursor = cursor.map(|cursor| format!("&cursor={cursor}")).unwrap_or_default();
        Target {
            address: self.trawl.address,
            method: "POST",
            // The trailing space prevents a prefix match.
            path: format!(
                "/contents/search?moduleId={module}&keyword={}+&limit={LIMIT}{cursor}",
                encode(word)
            ),
            token: Some(self.token.clone()),
            body: None,
            expected,
        }
    }
}

fn ask(target: &Target) -> Value {
    let body = block_on(async { Connection::open(target.address).await.call(target).await });
    serde_json::from_slice(&body).unwrap()
}

fn encode(text: &str) -> String {
    url::form_urlencoded::byte_serialize(text.as_bytes()).collect()
}
