use proptest::prelude::*;

use super::*;

proptest! {
    #![proptest_config(trawl_seeds::cases(256))]

    #[test]
    fn circles_are_detected_in_time(lead in 0usize..40, circle in 1usize..40) {
        let cursor = |step: usize| {
            let place = if step < lead { step } else { lead + (step - lead) % circle };
            place.to_string()
        };
        let mut guard = LoopGuard::default();
        let detected = (0..1_000).find(|step| {
            let detected = guard.was_at(&cursor(*step));
            guard.pass(&cursor(*step));
            detected
        });
        let detected = detected.unwrap();
        prop_assert!(detected >= lead + circle, "{detected}: nothing was repeated yet");
        prop_assert!(detected <= 3 * (lead + circle), "{detected}: too late");
    }
}

#[test]
fn fingerprints_are_stable() {
    assert_eq!(fingerprint("builtin:article"), fingerprint("builtin:article"));
    // Cursors outlive updates, and so must fingerprints.
    assert_eq!(fingerprint("abc"), [0xba, 0x78, 0x16, 0xbf, 0x8f, 0x01, 0xcf, 0xea]);
}
