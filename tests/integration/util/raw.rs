//! Raw bytes on a connection.

use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::TcpStream,
};

use super::TIMEOUT;

pub(crate) struct Connection {
    stream: TcpStream,
    unread: Vec<u8>,
}

#[derive(Debug)]
pub(crate) struct RawAnswer {
    pub(crate) status: u16,
    pub(crate) head: String,
    pub(crate) body: String,
}

impl RawAnswer {
    #[track_caller]
    pub(crate) fn says(&self, status: u16, text: &str) {
        assert_eq!((self.status, self.body.contains(text)), (status, true), "{self:?}");
    }
}

impl Connection {
    pub(crate) async fn open(base: &str) -> Self {
        let address = base.trim_start_matches("http://");
        Self { stream: TcpStream::connect(address).await.unwrap(), unread: Vec::new() }
    }

    pub(crate) async fn write(&mut self, bytes: &[u8]) {
        self.stream.write_all(bytes).await.unwrap();
    }

    pub(crate) async fn try_write(&mut self, bytes: &[u8]) -> std::io::Result<()> {
        self.stream.write_all(bytes).await
    }

    /// The answer must have a `Content-Length` or be an interim one.
    pub(crate) async fn read(&mut self) -> RawAnswer {
        tokio::time::timeout(TIMEOUT, self.read_answer()).await.expect("no answer came")
    }

    pub(crate) async fn read_to_end(&mut self) -> Vec<u8> {
        let mut rest = std::mem::take(&mut self.unread);
        let read = tokio::time::timeout(TIMEOUT, self.stream.read_to_end(&mut rest)).await;
        match read.expect("the connection is still open") {
            Err(error) if error.kind() != std::io::ErrorKind::ConnectionReset => panic!("{error}"),
            _ => rest,
        }
    }

    /// Consumes nothing.
    pub(crate) fn is_broken(&self) -> bool {
        let written = self.stream.try_write(b"\r\n");
        written.is_err_and(|error| error.kind() != std::io::ErrorKind::WouldBlock)
    }

    async fn read_answer(&mut self) -> RawAnswer {
        let end = loop {
            if let Some(end) = find(&self.unread, b"\r\n\r\n") {
                break end;
            }
            self.fill().await;
        };
        let head = String::from_utf8(self.unread.drain(..end + 4).collect()).unwrap().to_lowercase();
        let status = head.split(' ').nth(1).unwrap().parse().unwrap();
        let length = head
            .lines()
            .find_map(|line| line.strip_prefix("content-length: "))
            .map_or(0, |length| length.trim().parse().unwrap());
        while self.unread.len() < length {
            self.fill().await;
        }
        let body = String::from_utf8(self.unread.drain(..length).collect()).unwrap();
        RawAnswer { status, head, body }
    }

    async fn fill(&mut self) {
        let read = self.stream.read_buf(&mut self.unread).await.unwrap();
        assert!(read > 0, "the connection was closed before the answer was complete");
    }
}

fn find(text: &[u8], part: &[u8]) -> Option<usize> {
    text.windows(part.len()).position(|window| window == part)
}
