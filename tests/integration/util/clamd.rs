//! A real `ClamAV` daemon (Debian package clamav-daemon) with test signatures.

use std::{
    fs::{self, File},
    io::{Read, Write},
    net::TcpStream,
    path::Path,
    process::{Child, Command, Stdio},
    time::Duration,
};

use tempfile::TempDir;

use super::{eventually, program::own_address};

pub(crate) const MARKER: &str = "harmless marker of the harbour tests";

pub(crate) const FOUND: &str = "Harbour.Marker.UNOFFICIAL";

/// Largest content that clamd takes.
pub(crate) const STREAM_MAX: usize = 2 << 20;

/// Ended on drop or with this process.
pub(crate) struct Clamd {
    directory: TempDir,
    address: String,
    child: Option<Child>,
}

impl Clamd {
    pub(crate) async fn start() -> Self {
        Self::start_with(&[("Harbour.Marker", MARKER)]).await
    }

    /// Texts by the signature's name.
    pub(crate) async fn start_with(signatures: &[(&str, &str)]) -> Self {
        let directory = tempfile::tempdir().unwrap();
        fs::create_dir(directory.path().join("database")).unwrap();
        let mut daemon = Self { directory, address: own_address(), child: None };
        daemon.restart_with(signatures).await;
        daemon
    }

    pub(crate) async fn restart_with(&mut self, signatures: &[(&str, &str)]) {
        self.stop();
        let lines = signatures.iter().map(|(name, text)| format!("{name}:0:*:{}\n", hex::encode(text)));
        fs::write(self.path("database/harbour.ndb"), lines.collect::<String>()).unwrap();
        fs::write(self.path("clamd.conf"), self.configuration()).unwrap();
        let log = File::create(self.path("clamd.log")).unwrap();
        // The shell kills the daemon when its standard input, held by this process, closes.
        let mut command = Command::new("sh");
        command.args(["-c", "\"$@\" < /dev/null & cat; kill -KILL $!; wait", "sh"]);
        command.arg(program()).arg("--config-file").arg(self.path("clamd.conf"));
        command.stdin(Stdio::piped()).stdout(log.try_clone().unwrap()).stderr(log);
        self.child = Some(command.spawn().unwrap());
        eventually("clamd", async || self.answers().then_some(())).await;
    }

    pub(crate) fn stop(&mut self) {
        let Some(mut child) = self.child.take() else { return };
        drop(child.stdin.take());
        child.wait().unwrap();
        // A killed daemon leaves its socket.
        let _ = fs::remove_file(self.path("clamd.sock"));
    }

    pub(crate) fn address(&self) -> String {
        self.address.clone()
    }

    pub(crate) fn socket(&self) -> String {
        format!("unix:{}", self.path("clamd.sock"))
    }

    fn answers(&self) -> bool {
        let mut answer = Vec::new();
        let asked = TcpStream::connect(&self.address).and_then(|mut stream| {
            stream.set_read_timeout(Some(Duration::from_secs(5)))?;
            stream.write_all(b"zPING\0")?;
            stream.read_to_end(&mut answer)
        });
        asked.is_ok() && answer == b"PONG\0"
    }

    fn configuration(&self) -> String {
        let (host, port) = self.address.rsplit_once(':').unwrap();
        format!(
            "Foreground yes\nTCPAddr {host}\nTCPSocket {port}\nLocalSocket {}\nDatabaseDirectory {}\n\
             TemporaryDirectory {}\nStreamMaxLength {STREAM_MAX}\nSelfCheck 0\nMaxThreads 4\n",
            self.path("clamd.sock"),
            self.path("database"),
            self.directory.path().display(),
        )
    }

    fn path(&self, name: &str) -> String {
        self.directory.path().join(name).display().to_string()
    }
}

impl Drop for Clamd {
    fn drop(&mut self) {
        self.stop();
    }
}

fn program() -> &'static Path {
    let program = Path::new("/usr/sbin/clamd");
    assert!(
        program.exists(),
        "these tests need clamd; ./tests/run installs it (Debian: apt-get install clamav-daemon)"
    );
    program
}
