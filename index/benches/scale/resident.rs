//! What this process takes: memory and processor time.

/// Bytes that no file stands behind: what was allocated.
pub(crate) fn anonymous() -> u64 {
    of("RssAnon:")
}

/// Bytes of mapped files; the operating system takes them back when it needs the room.
pub(crate) fn mapped() -> u64 {
    of("RssFile:")
}

fn of(name: &str) -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix(name));
    line.and_then(|line| line.split_whitespace().next()?.parse::<u64>().ok()).unwrap_or(0) << 10
}

/// Seconds of all processors since the process began, of all its threads.
pub(crate) fn processor_seconds() -> f64 {
    /// The kernel counts in hundredths, whatever its own clock.
    const TICKS: f64 = 100.0;
    let stat = std::fs::read_to_string("/proc/self/stat").unwrap_or_default();
    // Behind the name, which may hold anything, the twelfth and thirteenth fields are the user's and the system's.
    let (_, fields) = stat.rsplit_once(')').unwrap_or_default();
    let ticks = fields.split_whitespace().skip(11).take(2).filter_map(|field| field.parse::<f64>().ok());
    ticks.sum::<f64>() / TICKS
}
