//! Round robin over tenants.

/// Starts behind the last tenant served; busy tenants come last. `waiting` ascends.
pub(super) fn turns(waiting: &[i64], last: i64, busy: &[i64]) -> Vec<i64> {
    let begins_at = waiting.partition_point(|tenant| *tenant <= last);
    let (before, behind) = waiting.split_at(begins_at);
    let (idle, busy): (Vec<i64>, Vec<i64>) =
        behind.iter().chain(before).partition(|tenant| !busy.contains(tenant));
    [idle, busy].concat()
}

#[cfg(test)]
mod tests {
    use super::turns;

    #[test]
    fn tenants_take_turns() {
        assert_eq!(turns(&[1, 2, 5], 2, &[]), [5, 1, 2]);
        assert_eq!(turns(&[1, 2, 5], 5, &[]), [1, 2, 5]);
        assert_eq!(turns(&[1, 2, 5], 3, &[]), [5, 1, 2]);
        assert_eq!(turns(&[1, 2, 5], 2, &[5, 1]), [2, 5, 1]);
        assert_eq!(turns(&[1], 1, &[1]), [1]);
        assert_eq!(turns(&[], 1, &[1]), [0_i64; 0]);
    }
}
