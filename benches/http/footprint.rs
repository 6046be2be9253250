//! Start, memory and size of the program.

use std::{
    collections::BTreeSet,
    time::{Duration, Instant},
};

use futures::future::join_all;

use crate::{
    Scale,
    common::{
        load::{Connection, Target, block_on},
        report::{Report, millis},
        server::Server,
    },
    corpus::{self, ENGLISH},
    process::resident_mib,
    texts,
};

const CLIENTS: usize = 16;
const WORDS: usize = 5_000;
const LOOK_INTERVAL: Duration = Duration::from_millis(2);

pub(crate) fn run(scale: &Scale, report: &mut Report) {
    let words: Vec<String> = texts::english()
        .iter()
        .flat_map(|text| text.split(|character: char| !character.is_ascii_alphabetic()))
        .filter(|word| word.len() > 3)
        .map(str::to_lowercase)
        .collect::<BTreeSet<_>>()
        .into_iter()
        .take(WORDS)
        .collect();
    let program = std::fs::metadata(Server::program()).unwrap().len();
    writeln!(report, "\n## Start and memory\n");
    writeln!(
        report,
        "The program has {:.1} MiB. Load: a page and the total of each of {} English words, {CLIENTS} clients.\n",
        program as f64 / f64::from(1 << 20),
        words.len(),
    );
    writeln!(
        report,
        "| documents | index, MiB | start → ready, ms | resident when ready, MiB | after the load |"
    );
    writeln!(report, "|---|---|---|---|---|");
    for documents in scale.documents {
        let prepared = corpus::prepare(documents);
        let index = std::fs::read_dir(corpus::index_of(&prepared)).unwrap();
        let bytes: u64 = index.map(|file| file.unwrap().metadata().unwrap().len()).sum();
        let started = Instant::now();
        let trawl = Server::trawl(prepared.directory.path(), &[]);
        while !is_ready(&trawl) {
            std::thread::sleep(LOOK_INTERVAL);
        }
        let ready = started.elapsed().as_secs_f64() * 1_000.0;
        let idle = resident_mib(trawl.process.id());
        search_all(&trawl, &trawl.token(&prepared), &words);
        let loaded = resident_mib(trawl.process.id());
        writeln!(
            report,
            "| {documents} | {:.0} | {} | {idle:.0} | {loaded:.0} |",
            bytes as f64 / f64::from(1 << 20),
            millis(ready),
        );
    }
}

fn is_ready(trawl: &Server) -> bool {
    let client = reqwest::Client::builder().no_proxy().build().unwrap();
    block_on(async {
        let answer = client.get(format!("http://{}/readyz", trawl.address)).send().await;
        answer.is_ok_and(|answer| answer.status().is_success())
    })
}

fn search_all(trawl: &Server, token: &str, words: &[String]) {
    block_on(join_all((0..CLIENTS).map(|client| async move {
        let mut connection = Connection::open(trawl.address).await;
        for word in words.iter().skip(client).step_by(CLIENTS) {
            let search = Target {
                address: trawl.address,
                method: "POST",
                path: format!("/contents/search?moduleId={ENGLISH}&keyword={word}+"),
                token: Some(token.to_owned()),
                body: None,
                expected: "\"total\":".to_owned(),
            };
            connection.call(&search).await;
        }
    })));
}
