//! The `trawl` program.

fn main() {}
