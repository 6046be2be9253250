use proptest::prelude::*;

use super::*;

proptest! {
    #![proptest_config(trawl_seeds::cases(256))]

    /// A circle of any length behind a way of any length is noticed; before it nothing is.
    #[test]
    fn circles_are_noticed_in_time(way in 0usize..40, circle in 1usize..40) {
        let cursor = |step: usize| {
            let place = if step < way { step } else { way + (step - way) % circle };
            place.to_string()
        };
        let mut guard = LoopGuard::default();
        let noticed = (0..1_000).find(|step| {
            let noticed = guard.was_at(&cursor(*step));
            guard.pass(&cursor(*step));
            noticed
        });
        let noticed = noticed.unwrap();
        prop_assert!(noticed >= way + circle, "{noticed}: nothing was repeated yet");
        prop_assert!(noticed <= 3 * (way + circle), "{noticed}: too late");
    }
}

#[test]
fn fingerprints_are_the_same_on_every_server() {
    assert_eq!(fingerprint("builtin:article"), fingerprint("builtin:article"));
    // The beginning of SHA-256, so that a cursor outlives an update of the server.
    assert_eq!(fingerprint("abc"), [0xba, 0x78, 0x16, 0xbf, 0x8f, 0x01, 0xcf, 0xea]);
}
