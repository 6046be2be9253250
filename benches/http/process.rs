//! Memory and processor time of processes, as Linux reports them.

use std::fs;

/// Linux counts processor time in hundredths of a second.
const TICKS_PER_SECOND: f64 = 100.0;

pub(crate) fn resident_mib(process: u32) -> f64 {
    let status = fs::read_to_string(format!("/proc/{process}/status")).unwrap();
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:")).unwrap();
    let kib: f64 = line.trim().trim_end_matches(" kB").parse().unwrap();
    kib / 1_024.0
}

/// Processor time in seconds; 0 of a process that has ended.
pub(crate) fn processor_seconds(process: u32) -> f64 {
    let stat = fs::read_to_string(format!("/proc/{process}/stat")).unwrap_or_default();
    // The program's name, in brackets, may hold spaces. User and system time are fields 14 and 15, the state field 3.
    let fields = stat.rsplit_once(')').map_or("", |(_, fields)| fields);
    let ticks = fields.split_whitespace().skip(11).take(2).map(|ticks| ticks.parse::<f64>().unwrap());
    ticks.sum::<f64>() / TICKS_PER_SECOND
}

pub(crate) fn processes_named(name: &str) -> Vec<u32> {
    let processes = fs::read_dir("/proc").unwrap().flatten();
    let numbers = processes.filter_map(|entry| entry.file_name().to_str()?.parse().ok());
    let is_named = |process: &u32| {
        fs::read_to_string(format!("/proc/{process}/comm")).is_ok_and(|found| found.trim() == name)
    };
    numbers.filter(is_named).collect()
}
