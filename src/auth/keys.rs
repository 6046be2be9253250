//! The master key and its derived keys (book: explanation/security.md).

use std::{
    fs,
    io::{self, Write},
    os::unix::fs::OpenOptionsExt,
    path::{Path, PathBuf},
};

use aws_lc_rs::{
    aead::{AES_256_GCM, Aad, NONCE_LEN, Nonce, RandomizedNonceKey},
    hkdf, hmac, rand,
};
use base64::{Engine, prelude::BASE64_STANDARD};
use secrecy::{ExposeSecret, SecretString};
use trawl_search::CursorKey;

use crate::store::DatabaseAddress;

const FILE_NAME: &str = "master.key";

const KEY_BYTES: usize = 32;

/// Why there is no master key.
#[derive(Debug, thiserror::Error)]
pub enum KeyError {
    /// The key is not 32 bytes of base64.
    #[error(
        "the master key from {0} is not base64 of 32 bytes (make one with: head -c 32 /dev/urandom | base64)"
    )]
    Malformed(String),
    /// The key file could not be read or created.
    #[error("the master key file {path} could not be read or created: {cause}")]
    File {
        /// Key file.
        path: PathBuf,
        /// System's error.
        cause: io::Error,
    },
    /// Another key than the lost one would open nothing.
    #[error(
        "{0} is missing, and the database beside it holds secrets that no other key opens: put the file back, or set \
         TRAWL_MASTER_KEY to its text"
    )]
    Missing(PathBuf),
    /// The cryptographic library failed.
    #[error("no key could be generated or derived")]
    Cryptography,
}

/// A sealed value was altered, or sealed with another key or context.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("a sealed value cannot be opened with this key")]
pub struct CannotOpen;

const FINGERPRINT_BYTES: usize = 8;

/// The derived keys, one per use.
#[derive(Debug)]
pub struct Keys {
    /// Seals credentials for other systems and signing keys.
    pub secrets: SealingKey,
    /// Seals search cursors.
    pub cursors: SealingKey,
    /// Seals the state of login pages.
    pub logins: SealingKey,
    /// Makes the hashes of client secrets.
    pub client_secrets: hmac::Key,
    /// Signs addresses of the embedded content store.
    pub addresses: hmac::Key,
    /// Tells the master key from others, and tells nothing else of it.
    pub fingerprint: String,
}

impl Keys {
    /// Loads the configured key or the key file.
    ///
    /// The file is created with mode 0600 where there is no database yet.
    pub fn load(configured: Option<&SecretString>, data: &Path) -> Result<Self, KeyError> {
        let master = if let Some(key) = configured {
            decode(key.expose_secret(), "TRAWL_MASTER_KEY")?
        } else {
            // A database is made after its key.
            let is_new = !DatabaseAddress::in_directory(data).exists();
            read_or_make(&data.join(FILE_NAME), is_new)?
        };
        let root = hkdf::Salt::new(hkdf::HKDF_SHA256, b"trawl").extract(&master);
        Ok(Self {
            secrets: SealingKey::derive(&root, b"secrets")?,
            cursors: SealingKey::derive(&root, b"cursors")?,
            logins: SealingKey::derive(&root, b"logins")?,
            client_secrets: hmac::Key::new(hmac::HMAC_SHA256, &derive(&root, b"client secrets")?),
            addresses: hmac::Key::new(hmac::HMAC_SHA256, &derive(&root, b"addresses")?),
            fingerprint: hex::encode(&derive(&root, b"fingerprint")?[..FINGERPRINT_BYTES]),
        })
    }
}

impl CursorKey for Keys {
    fn seal(&self, context: &[u8], plain: &[u8]) -> Option<Vec<u8>> {
        self.cursors.seal(context, plain).ok()
    }

    fn open(&self, context: &[u8], sealed: &[u8]) -> Option<Vec<u8>> {
        self.cursors.open(context, sealed).ok()
    }
}

/// Authenticated encryption: AES-256-GCM with a random nonce.
#[derive(Debug)]
pub struct SealingKey(RandomizedNonceKey);

impl SealingKey {
    fn derive(root: &hkdf::Prk, purpose: &[u8]) -> Result<Self, KeyError> {
        let key = derive(root, purpose)?;
        RandomizedNonceKey::new(&AES_256_GCM, &key).map(Self).map_err(|_| KeyError::Cryptography)
    }

    /// Seals `value`, bound to `context`.
    pub fn seal(&self, context: &[u8], value: &[u8]) -> Result<Vec<u8>, CannotOpen> {
        let mut sealed = value.to_vec();
        let nonce =
            self.0.seal_in_place_append_tag(Aad::from(context), &mut sealed).map_err(|_| CannotOpen)?;
        sealed.extend_from_slice(nonce.as_ref());
        Ok(sealed)
    }

    /// Opens a value of [`SealingKey::seal`].
    pub fn open(&self, context: &[u8], sealed: &[u8]) -> Result<Vec<u8>, CannotOpen> {
        let (mut value, nonce) = sealed
            .split_last_chunk::<NONCE_LEN>()
            .map(|(value, nonce)| (value.to_vec(), Nonce::assume_unique_for_key(*nonce)))
            .ok_or(CannotOpen)?;
        let length =
            self.0.open_in_place(nonce, Aad::from(context), &mut value).map_err(|_| CannotOpen)?.len();
        value.truncate(length);
        Ok(value)
    }
}

fn derive(root: &hkdf::Prk, purpose: &[u8]) -> Result<[u8; KEY_BYTES], KeyError> {
    let mut key = [0; KEY_BYTES];
    root.expand(&[purpose], hkdf::HKDF_SHA256)
        .and_then(|derived| derived.fill(&mut key))
        .map_err(|_| KeyError::Cryptography)?;
    Ok(key)
}

fn decode(text: &str, origin: &str) -> Result<[u8; KEY_BYTES], KeyError> {
    BASE64_STANDARD
        .decode(text.trim())
        .ok()
        .and_then(|bytes| bytes.try_into().ok())
        .ok_or_else(|| KeyError::Malformed(origin.to_owned()))
}

fn read_or_make(path: &Path, may_make: bool) -> Result<[u8; KEY_BYTES], KeyError> {
    let fail = |cause| KeyError::File { path: path.to_owned(), cause };
    let read =
        || fs::read_to_string(path).map_err(fail).and_then(|text| decode(&text, &path.display().to_string()));
    if path.exists() {
        return read();
    }
    if !may_make {
        return Err(KeyError::Missing(path.to_owned()));
    }
    let mut key = [0; KEY_BYTES];
    rand::fill(&mut key).map_err(|_| KeyError::Cryptography)?;
    // Linked once complete; of two processes one wins.
    let aside = path.with_extension(format!("new-{}", std::process::id()));
    let made = || -> io::Result<()> {
        let mut file = fs::OpenOptions::new().write(true).create_new(true).mode(0o600).open(&aside)?;
        file.write_all(BASE64_STANDARD.encode(key).as_bytes())?;
        file.sync_all()?;
        fs::hard_link(&aside, path)
    };
    let outcome = made();
    fs::remove_file(&aside).map_err(fail)?;
    match outcome {
        Err(error) if error.kind() != io::ErrorKind::AlreadyExists => Err(fail(error)),
        _ => read(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_key_file_is_made_once_and_private() {
        use std::os::unix::fs::PermissionsExt;
        let directory = tempfile::tempdir().unwrap();
        let sealed = Keys::load(None, directory.path()).unwrap().secrets.seal(b"context", b"value").unwrap();
        let again = Keys::load(None, directory.path()).unwrap();
        assert_eq!(again.secrets.open(b"context", &sealed).unwrap(), b"value");
        assert_eq!(again.secrets.open(b"other", &sealed), Err(CannotOpen));
        assert_eq!(again.cursors.open(b"context", &sealed), Err(CannotOpen));
        let mode = fs::metadata(directory.path().join(FILE_NAME)).unwrap().permissions().mode();
        assert_eq!(mode & 0o777, 0o600);
    }

    #[test]
    fn a_malformed_key_is_refused() {
        for key in ["too short".to_owned(), BASE64_STANDARD.encode([7; 16])] {
            let key = SecretString::from(key);
            assert!(matches!(Keys::load(Some(&key), Path::new("/")), Err(KeyError::Malformed(_))));
        }
    }

    #[test]
    fn sealed_value_is_aes_256_gcm_with_a_nonce_of_its_own() {
        use aws_lc_rs::aead::{LessSafeKey, UnboundKey};
        let root = hkdf::Salt::new(hkdf::HKDF_SHA256, b"trawl").extract(&[7; KEY_BYTES]);
        let key = SealingKey::derive(&root, b"secrets").unwrap();
        let [one, other] = [(); 2].map(|()| key.seal(b"context", b"value").unwrap());
        let plain =
            LessSafeKey::new(UnboundKey::new(&AES_256_GCM, &derive(&root, b"secrets").unwrap()).unwrap());
        let (sealed, nonce) = one.split_last_chunk::<NONCE_LEN>().unwrap();
        let mut value = sealed.to_vec();
        let nonce = Nonce::assume_unique_for_key(*nonce);
        assert_eq!(plain.open_in_place(nonce, Aad::from(b"context"), &mut value).unwrap(), b"value");
        assert_ne!(one.last_chunk::<NONCE_LEN>(), other.last_chunk::<NONCE_LEN>());
    }
}
