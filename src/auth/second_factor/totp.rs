//! Time-based one-time passwords (RFC 6238): SHA-1, 6 digits, steps of 30 seconds.

use std::fmt;

use aws_lc_rs::{constant_time::verify_slices_are_equal, hmac, rand};
use data_encoding::BASE32_NOPAD;
use percent_encoding::{NON_ALPHANUMERIC, utf8_percent_encode};
use secrecy::SecretString;

use crate::error::{Error, Result};

/// Digits of a code.
pub(super) const DIGITS: usize = 6;

const MODULUS: u32 = 1_000_000;
const STEP_SECONDS: i64 = 30;
/// Steps by which the app's clock may be ahead or behind.
const SKEW: i64 = 1;

/// Bytes of a secret: as many as SHA-1 yields (RFC 4226 §4).
const SECRET_BYTES: usize = 20;

/// The secret that the server shares with an authenticator app.
pub struct TotpSecret([u8; SECRET_BYTES]);

impl fmt::Debug for TotpSecret {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("TotpSecret").finish_non_exhaustive()
    }
}

impl TotpSecret {
    /// A new random secret.
    pub fn generate() -> Result<Self> {
        let mut bytes = [0; SECRET_BYTES];
        rand::fill(&mut bytes).map_err(|_| Error::internal("the system returned no random bytes"))?;
        Ok(Self(bytes))
    }

    /// The secret of these bytes, if they are as many.
    pub fn from_bytes(bytes: &[u8]) -> Option<Self> {
        bytes.try_into().ok().map(Self)
    }

    /// Its bytes, to be sealed.
    pub fn bytes(&self) -> &[u8] {
        &self.0
    }

    /// Base32, to be typed into an app.
    pub fn base32(&self) -> SecretString {
        BASE32_NOPAD.encode(&self.0).into()
    }

    /// The `otpauth://` address for an app, of an account at this server.
    pub fn uri(&self, server: &str, account: &str) -> SecretString {
        let encode = |text| utf8_percent_encode(text, NON_ALPHANUMERIC);
        let (server, account, secret) = (encode(server), encode(account), BASE32_NOPAD.encode(&self.0));
        format!(
            "otpauth://totp/{server}:{account}?secret={secret}&issuer={server}&algorithm=SHA1&digits={DIGITS}&period={STEP_SECONDS}"
        )
        .into()
    }

    /// The latest step after `last` with this code, at epoch seconds `now`.
    pub fn find_step(&self, code: &str, now: i64, last: i64) -> Option<i64> {
        let step = now / STEP_SECONDS;
        // Every step takes as long.
        let matching = (step - SKEW..=step + SKEW).map(|step| {
            let is_right = verify_slices_are_equal(self.code(step).as_bytes(), code.as_bytes()).is_ok();
            (is_right && step > last).then_some(step)
        });
        matching.fold(None, |found, step| step.or(found))
    }

    /// The code of a step.
    pub fn code(&self, step: i64) -> String {
        format!("{:0DIGITS$}", self.truncated(step) % MODULUS)
    }

    /// The HMAC of a step, truncated to 31 bits (RFC 4226 §5.3).
    fn truncated(&self, step: i64) -> u32 {
        let key = hmac::Key::new(hmac::HMAC_SHA1_FOR_LEGACY_USE_ONLY, &self.0);
        let tag = hmac::sign(&key, &step.to_be_bytes());
        let offset = tag.as_ref().last().map_or(0, |byte| usize::from(byte & 0xf));
        let bytes = tag.as_ref().iter().skip(offset).take(4);
        bytes.fold(0, |number, byte| (number << 8) | u32::from(*byte)) & 0x7fff_ffff
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use secrecy::ExposeSecret;

    use super::*;

    fn secret() -> TotpSecret {
        TotpSecret::from_bytes(b"12345678901234567890").unwrap()
    }

    /// RFC 6238, appendix B; its codes have eight digits.
    #[test]
    fn codes_are_those_of_the_rfc() {
        for (seconds, code) in [
            (59, 94_287_082),
            (1_111_111_109, 7_081_804),
            (1_111_111_111, 14_050_471),
            (1_234_567_890, 89_005_924),
            (2_000_000_000, 69_279_037),
            (20_000_000_000, 65_353_130),
        ] {
            let step = seconds / STEP_SECONDS;
            assert_eq!(secret().truncated(step) % 100_000_000, code, "{seconds}");
            assert_eq!(secret().code(step), format!("{:06}", code % 1_000_000));
        }
    }

    #[test]
    fn address_names_server_account_and_secret() {
        let expected = "otpauth://totp/search%2Eexample:mei%40acme?secret=GEZDGNBVGY3TQOJQGEZDGNBVGY3TQOJQ\
                        &issuer=search%2Eexample&algorithm=SHA1&digits=6&period=30";
        assert_eq!(secret().uri("search.example", "mei@acme").expose_secret(), expected);
    }

    #[test]
    fn code_of_two_neighbouring_steps_is_spent_for_both() {
        let (first, second) = (910_737, 910_738);
        let code = secret().code(first);
        assert_eq!(code, secret().code(second));
        let now = first * STEP_SECONDS;
        assert_eq!(secret().find_step(&code, now, 0), Some(second));
        assert_eq!(secret().find_step(&code, now, second), None);
    }

    proptest! {
        #![proptest_config(trawl_seeds::cases(64))]

        #[test]
        fn code_holds_for_a_step_each_way_and_once(now in 1_000_000_i64..4_000_000_000, behind in -3_i64..=3) {
            let step = now / STEP_SECONDS + behind;
            let code = secret().code(step);
            let found = secret().find_step(&code, now, 0);
            prop_assert_eq!(found.is_some_and(|found| found == step), behind.abs() <= 1);
            prop_assert_eq!(secret().find_step(&code, now, step), None);
        }
    }
}
