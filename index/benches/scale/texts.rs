//! Time and memory for large texts without a commit, as in a rebuild.

use std::convert::Infallible;
use std::fmt::Write as _;
use std::sync::mpsc::{self, RecvTimeoutError};
use std::thread;
use std::time::{Duration, Instant};

use trawl_engine::{Audience, Change, Document, Scope};
use trawl_index::{Index, Options};

use crate::mixer::{Mixer, Random};
use crate::{corpus, resident};

const TEXTS: u64 = 2_000;
/// Server's limit for the text of a file.
const BYTES: usize = 256 << 10;
/// Server's batch of files.
const AT_A_TIME: u64 = 32;
const LOOK_EVERY: Duration = Duration::from_millis(5);

/// With real words, then with almost no repeated words.
pub(crate) fn run(mixer: &Mixer) {
    println!("## {TEXTS} texts of {} KiB, put without a commit\n", BYTES >> 10);
    println!("| texts | s | memory above the start, MiB at the most | MiB on disk |");
    println!("|---|---|---|---|");
    row("real words", |number| real(mixer, number));
    row("words that hardly come twice", drawn);
    println!();
}

fn row(name: &str, text: impl Fn(u64) -> String) {
    let directory = tempfile::tempdir_in(corpus::target()).unwrap();
    let (index, mut writer) = Index::open(directory.path(), &Options::default()).unwrap();
    let before = resident::anonymous();
    let (seconds, most) = thread::scope(|threads| {
        let (under_way, over) = mpsc::channel::<Infallible>();
        let watching = threads.spawn(move || {
            let mut most = 0;
            while over.recv_timeout(LOOK_EVERY) == Err(RecvTimeoutError::Timeout) {
                most = most.max(resident::anonymous());
            }
            most
        });
        let started = Instant::now();
        for first in (0..TEXTS).step_by(usize::try_from(AT_A_TIME).unwrap()) {
            let put = |number| Change::Put(document(number, text(number)));
            writer.apply((first..first + AT_A_TIME).map(put).collect()).unwrap();
        }
        corpus::commit(&mut writer);
        let seconds = started.elapsed().as_secs_f64();
        drop(under_way);
        (seconds, watching.join().unwrap())
    });
    let taken = most.saturating_sub(before) >> 20;
    println!("| {name} | {seconds:.1} | {taken} | {} |", corpus::size(directory.path()) >> 20);
    writer.close().unwrap();
    drop(index);
}

fn document(number: u64, text: String) -> Document {
    Document {
        scope: Scope::new(1, "file"),
        id: format!("f{number}"),
        display_time: i64::try_from(number).unwrap(),
        title: format!("file {number}"),
        title_is_name: false,
        other_names: Vec::new(),
        sub_title: String::new(),
        brief: String::new(),
        text: Some(text.into()),
        author: String::new(),
        audience: Audience::Tenant,
        item: "{}".to_owned(),
    }
}

fn real(mixer: &Mixer, number: u64) -> String {
    let mut text = String::with_capacity(BYTES + 4_096);
    let mut part = number << 20;
    while text.len() < BYTES {
        let document = mixer.document(part, 0);
        let _ = writeln!(text, "{}", document.brief);
        part += 1;
    }
    text
}

fn drawn(number: u64) -> String {
    let mut random = Random::new(7, number);
    let mut text = String::with_capacity(BYTES + 16);
    while text.len() < BYTES {
        let _ = write!(text, "{:x} ", random.below(1 << 40));
    }
    text
}
