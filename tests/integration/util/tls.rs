//! TLS with certificates of an authority of a test's own.

use std::{
    fs,
    path::PathBuf,
    process::Command,
    sync::{Arc, Mutex},
};

use tempfile::TempDir;
use tokio::{
    io::{AsyncReadExt, copy_bidirectional},
    net::{TcpListener, TcpStream},
    sync::Notify,
    task::JoinSet,
};
use tokio_rustls::{
    TlsAcceptor,
    rustls::{
        ServerConfig,
        crypto::aws_lc_rs,
        pki_types::{CertificateDer, PrivateKeyDer, pem::PemObject},
    },
};
use url::Url;

const KEY: &[&str] = &["-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes"];
const SETTINGS: &str = "[ca]\ndefault_ca = own\n[own]\ndatabase = index\nnew_certs_dir = .\nserial = serial\n\
    certificate = authority.pem\nprivate_key = authority.key\ndefault_md = sha256\npolicy = names\n\
    x509_extensions = server\nunique_subject = no\n[names]\ncommonName = supplied\n\
    [server]\nsubjectAltName = DNS:localhost\nbasicConstraints = CA:FALSE\n";

/// An authority that signs certificates of `localhost`.
pub(crate) struct Authority(TempDir);

impl Authority {
    pub(crate) fn new() -> Self {
        let authority = Self(tempfile::tempdir().unwrap());
        for (name, content) in [("settings", SETTINGS), ("index", ""), ("serial", "01\n")] {
            fs::write(authority.0.path().join(name), content).unwrap();
        }
        authority.openssl(
            &[
                &[
                    "req",
                    "-x509",
                    "-subj",
                    "/CN=authority",
                    "-keyout",
                    "authority.key",
                    "-out",
                    "authority.pem",
                ],
                KEY,
            ]
            .concat(),
        );
        authority.openssl(
            &[&["req", "-new", "-subj", "/CN=localhost", "-keyout", "key.pem", "-out", "request"], KEY]
                .concat(),
        );
        authority
    }

    fn openssl(&self, arguments: &[&str]) {
        let done = Command::new("openssl").args(arguments).current_dir(self.0.path()).output().unwrap();
        assert!(done.status.success(), "{}", String::from_utf8_lossy(&done.stderr));
    }

    /// The certificate of the authority, for `SSL_CERT_FILE`.
    pub(crate) fn file(&self) -> PathBuf {
        self.0.path().join("authority.pem")
    }

    /// A server's configuration, with a certificate that is valid until a year.
    fn server(&self, until: u16) -> Arc<ServerConfig> {
        let end = format!("{until}0101000000Z");
        let begin = ["-startdate", "20200101000000Z", "-enddate", &end];
        let rest = ["-config", "settings", "-batch", "-notext", "-in", "request", "-out", "certificate.pem"];
        self.openssl(&[&["ca"][..], &begin, &rest].concat());
        let [certificate, key] = ["certificate.pem", "key.pem"].map(|name| self.0.path().join(name));
        let config = ServerConfig::builder_with_provider(Arc::new(aws_lc_rs::default_provider()))
            .with_safe_default_protocol_versions()
            .unwrap()
            .with_no_client_auth()
            .with_single_cert(
                vec![CertificateDer::from_pem_file(certificate).unwrap()],
                PrivateKeyDer::from_pem_file(key).unwrap(),
            );
        Arc::new(config.unwrap())
    }
}

/// A server of TLS before one without.
pub(crate) struct TlsRelay {
    pub(crate) url: Url,
    state: Arc<State>,
    _relaying: JoinSet<()>,
}

struct State {
    valid: Arc<ServerConfig>,
    expired: Arc<ServerConfig>,
    shown: Mutex<Arc<ServerConfig>>,
    /// Open connections end under their next request, without a word of TLS, as those of many servers do.
    changed: Notify,
}

impl TlsRelay {
    /// Relays to an address `http://localhost:PORT/PATH`.
    pub(crate) async fn to(target: &str, authority: &Authority) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let mut url = Url::parse(target).unwrap();
        let target = url.port().unwrap();
        url.set_scheme("https").unwrap();
        url.set_host(Some("localhost")).unwrap();
        url.set_port(Some(listener.local_addr().unwrap().port())).unwrap();
        let (valid, expired) = (authority.server(2049), authority.server(2021));
        let shown = Mutex::new(Arc::clone(&valid));
        let state = Arc::new(State { valid, expired, shown, changed: Notify::new() });
        let mut relaying = JoinSet::new();
        relaying.spawn(relay(listener, target, Arc::clone(&state)));
        Self { url, state, _relaying: relaying }
    }

    pub(crate) fn show_expired(&self, is_expired: bool) {
        let State { valid, expired, shown, changed } = &*self.state;
        *shown.lock().unwrap() = Arc::clone(if is_expired { expired } else { valid });
        changed.notify_waiters();
    }
}

async fn relay(listener: TcpListener, target: u16, state: Arc<State>) {
    let mut open = JoinSet::new();
    loop {
        let (client, _) = listener.accept().await.unwrap();
        while open.try_join_next().is_some() {}
        let state = Arc::clone(&state);
        open.spawn(async move {
            // Before the look at the certificate: no change is missed.
            let changed = state.changed.notified();
            let acceptor = TlsAcceptor::from(Arc::clone(&state.shown.lock().unwrap()));
            // The client may end it at any time.
            let Ok(mut client) = acceptor.accept(client).await else { return };
            let mut server = TcpStream::connect(("127.0.0.1", target)).await.unwrap();
            tokio::select! {
                _ = copy_bidirectional(&mut client, &mut server) => {}
                () = changed => drop(client.read_u8().await),
            }
        });
    }
}
