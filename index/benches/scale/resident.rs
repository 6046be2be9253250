/// Allocated bytes, without mapped files.
pub(crate) fn anonymous() -> u64 {
    of("RssAnon:")
}

/// The operating system can reclaim them.
pub(crate) fn mapped() -> u64 {
    of("RssFile:")
}

fn of(name: &str) -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix(name));
    line.and_then(|line| line.split_whitespace().next()?.parse::<u64>().ok()).unwrap_or(0) << 10
}

/// Processor time of all threads.
pub(crate) fn processor_seconds() -> f64 {
    /// The kernel counts in hundredths.
    const TICKS: f64 = 100.0;
    let stat = std::fs::read_to_string("/proc/self/stat").unwrap_or_default();
    // The name may contain anything; fields 12 and 13 after it are user and system time.
    let (_, fields) = stat.rsplit_once(')').unwrap_or_default();
    let ticks = fields.split_whitespace().skip(11).take(2).filter_map(|field| field.parse::<f64>().ok());
    ticks.sum::<f64>() / TICKS
}
