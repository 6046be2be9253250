//! TLS of all clients. The certificates of the system's authorities are read once for the process.

use std::sync::{Arc, LazyLock};

use rustls::crypto::{CryptoProvider, aws_lc_rs};
use rustls::{ClientConfig, Error};
use rustls_platform_verifier::BuilderVerifierExt;

static SYSTEM: LazyLock<Result<ClientConfig, Error>> = LazyLock::new(|| {
    let installed = CryptoProvider::get_default().cloned();
    let provider = installed.unwrap_or_else(|| Arc::new(aws_lc_rs::default_provider()));
    let builder = ClientConfig::builder_with_provider(provider).with_safe_default_protocol_versions()?;
    Ok(builder.with_platform_verifier()?.with_no_client_auth())
});

/// Versions of HTTP that a client speaks, the preferred one first.
#[derive(Clone, Copy, Debug)]
pub(super) enum HttpVersions {
    All,
    Http1,
}

/// The configuration that trusts the system's authorities.
///
/// # Errors
/// Their certificates cannot be read, or there are none.
pub(super) fn config(versions: HttpVersions) -> Result<ClientConfig, Error> {
    let protocols: &[&[u8]] = match versions {
        HttpVersions::All => &[b"h2", b"http/1.1"],
        HttpVersions::Http1 => &[b"http/1.1"],
    };
    let mut config = SYSTEM.clone()?;
    config.alpn_protocols = protocols.iter().map(|protocol| protocol.to_vec()).collect();
    Ok(config)
}
