//! One seed for all property tests of a process, and texts to draw.
//!
//! `PROPTEST_RNG_SEED` sets the seed and thereby the cases, `PROPTEST_CASES` their number. `PROPTEST_TIMES` multiplies
//! the default numbers.

use std::{
    env, fs,
    io::{self, Write},
    ops::Range,
    path::Path,
    sync::LazyLock,
};

use proptest::{
    collection::vec,
    sample::select,
    strategy::Strategy,
    test_runner::{Config, RngSeed},
};

const SEED: &str = "PROPTEST_RNG_SEED";
const CASES: &str = "PROPTEST_CASES";
const TIMES: &str = "PROPTEST_TIMES";

static DRAWN: LazyLock<u64> = LazyLock::new(|| {
    let seed = match Config::default().rng_seed {
        RngSeed::Fixed(given) => given,
        RngSeed::Random => fastrand::u64(..),
    };
    // `eprintln!` would be captured for passing tests.
    let _ = writeln!(io::stderr(), "property tests draw from {SEED}={seed}");
    seed
});

/// The seed of this process, also printed in the calling test's output.
#[must_use]
pub fn seed() -> u64 {
    println!("{SEED}={}", *DRAWN);
    *DRAWN
}

/// The number of cases, unless the environment says otherwise.
#[must_use]
pub fn count(cases: u32) -> u32 {
    if env::var_os(CASES).is_some() {
        return Config::default().cases;
    }
    let times: Option<u32> = env::var(TIMES).ok().and_then(|times| times.parse().ok());
    cases * times.unwrap_or(1)
}

#[must_use]
pub fn cases(cases: u32) -> Config {
    Config {
        cases: count(cases),
        rng_seed: RngSeed::Fixed(seed()),
        // The seed is enough to reproduce a failure.
        failure_persistence: None,
        ..Config::default()
    }
}

/// Draws one of these words; a bar separates two.
pub fn word_of(words: &'static str) -> impl Strategy<Value = String> {
    select(words.split('|').collect::<Vec<_>>()).prop_map(str::to_owned)
}

/// Draws a number of these parts, side by side; a bar separates two.
pub fn concatenated(parts: &'static str, number: Range<usize>) -> impl Strategy<Value = String> {
    vec(word_of(parts), number).prop_map(|drawn| drawn.concat())
}

/// Reads each file of a folder of `tests/wild`; its name precedes what the reader says.
///
/// # Errors
/// A file cannot be read.
pub fn each_wild_file(folder: &str, read: impl Fn(&[u8])) -> io::Result<()> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../wild").join(folder);
    for file in fs::read_dir(folder)? {
        let path = file?.path();
        println!("{}", path.display());
        read(&fs::read(path)?);
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use proptest::{prelude::*, strategy::ValueTree, test_runner::TestRunner};

    use super::*;

    #[test]
    fn seed_reproduces_the_cases() {
        let draw = |mut runner: TestRunner| any::<[u64; 4]>().new_tree(&mut runner).unwrap().current();
        let again = Config { rng_seed: RngSeed::Fixed(seed()), ..Config::default() };
        assert_eq!(draw(TestRunner::new(cases(1))), draw(TestRunner::new(again)));
        let other = Config { rng_seed: RngSeed::Fixed(seed() ^ 1), ..Config::default() };
        assert_ne!(draw(TestRunner::new(cases(1))), draw(TestRunner::new(other)));
    }
}
