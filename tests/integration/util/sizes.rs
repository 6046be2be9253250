//! Sizes of tests.

/// The size that finds a planted fault, or in `./tests/run --all` the whole one.
pub(crate) fn size<T>(usual: T, whole: T) -> T {
    if std::env::var_os("TRAWL_TEST_ALL").is_some() { whole } else { usual }
}
