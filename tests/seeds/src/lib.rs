//! One seed for all property tests of a process, printed before the first of them, so that any failure can be run again.
//!
//! It is drawn, or taken from `PROPTEST_RNG_SEED`; with the same seed the same cases are drawn. `PROPTEST_CASES` sets how
//! many there are.

use std::{
    env,
    io::{self, Write},
    sync::LazyLock,
};

use proptest::test_runner::{Config, RngSeed};

/// How proptest itself names the seed.
const SEED: &str = "PROPTEST_RNG_SEED";
/// How proptest itself names the number of cases.
const CASES: &str = "PROPTEST_CASES";

static DRAWN: LazyLock<u64> = LazyLock::new(|| {
    let seed = match Config::default().rng_seed {
        RngSeed::Fixed(given) => given,
        RngSeed::Random => fastrand::u64(..),
    };
    // Not by `eprintln!`, which is shown of tests that fail only.
    let _ = writeln!(io::stderr(), "property tests draw from {SEED}={seed}");
    seed
});

/// The seed of this process; a test that asks for it has it in its own output too.
#[must_use]
pub fn seed() -> u64 {
    println!("{SEED}={}", *DRAWN);
    *DRAWN
}

/// How often a property is tried: so often, unless the environment says otherwise.
#[must_use]
pub fn count(cases: u32) -> u32 {
    if env::var_os(CASES).is_some() { Config::default().cases } else { cases }
}

/// The settings of a property that is tried so often.
#[must_use]
pub fn cases(cases: u32) -> Config {
    Config {
        cases: count(cases),
        rng_seed: RngSeed::Fixed(seed()),
        // The seed says the same, and nothing is written beside the sources.
        failure_persistence: None,
        ..Config::default()
    }
}

#[cfg(test)]
mod tests {
    use proptest::{prelude::*, strategy::ValueTree, test_runner::TestRunner};

    use super::*;

    #[test]
    fn the_same_cases_are_drawn_again() {
        let draw = |mut runner: TestRunner| any::<[u64; 4]>().new_tree(&mut runner).unwrap().current();
        let again = Config { rng_seed: RngSeed::Fixed(seed()), ..Config::default() };
        assert_eq!(draw(TestRunner::new(cases(1))), draw(TestRunner::new(again)));
        let other = Config { rng_seed: RngSeed::Fixed(seed() ^ 1), ..Config::default() };
        assert_ne!(draw(TestRunner::new(cases(1))), draw(TestRunner::new(other)));
    }
}
