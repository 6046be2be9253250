use std::io::{BufRead, BufReader};
use std::net::Ipv4Addr;
use std::process::{Child, Command, Stdio};
use std::sync::Arc;
use std::time::Duration;

use futures::FutureExt;
use secrecy::SecretString;
use tempfile::TempDir;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpSocket};
use tokio::sync::mpsc;
use tokio_util::task::AbortOnDropHandle;
use trawl_engine::Failure;
use url::Url;

use super::{
    BUSY, Call, Client, Credentials, HANGING, INCOMPLETE, MAX_ANSWER_BYTES, REFUSED, UNREACHABLE,
    WRITE_TIMEOUT,
};

/// How a node answers.
#[derive(Clone)]
enum Reply {
    Bytes(Arc<[u8]>),
    /// An endless body.
    Endless,
    Nothing,
}

/// A node that answers all requests alike.
struct FakeNode {
    url: Url,
    requests: mpsc::UnboundedReceiver<String>,
    _served: AbortOnDropHandle<()>,
}

impl FakeNode {
    async fn start(reply: Reply) -> Self {
        Self::listen(TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).await.unwrap(), reply)
    }

    async fn answering(status: u16, body: &str) -> Self {
        let reply = format!(
            "HTTP/1.1 {status} Any\r\ncontent-length: {}\r\nconnection: close\r\n\r\n{body}",
            body.len()
        );
        Self::start(Reply::Bytes(reply.into_bytes().into())).await
    }

    fn listen(listener: TcpListener, reply: Reply) -> Self {
        let url = format!("http://{}", listener.local_addr().unwrap()).parse().unwrap();
        let (sender, requests) = mpsc::unbounded_channel();
        let served = tokio::spawn(async move {
            loop {
                let (mut stream, _) = listener.accept().await.unwrap();
                let (sender, reply) = (sender.clone(), reply.clone());
                tokio::spawn(async move {
                    let mut head = Vec::new();
                    while !head.ends_with(b"\r\n\r\n") {
                        head.push(stream.read_u8().await?);
                    }
                    // The test may be over.
                    let _ = sender.send(String::from_utf8(head).unwrap());
                    match reply {
                        Reply::Bytes(bytes) => stream.write_all(&bytes).await?,
                        Reply::Endless => {
                            stream.write_all(b"HTTP/1.1 200 OK\r\nconnection: close\r\n\r\n").await?;
                            let chunk = vec![b' '; 1 << 20];
                            loop {
                                stream.write_all(&chunk).await?;
                            }
                        }
                        // Until the client closes the connection.
                        Reply::Nothing => while stream.read(&mut [0]).await? > 0 {},
                    }
                    Ok::<(), std::io::Error>(())
                });
            }
        });
        Self { url, requests, _served: AbortOnDropHandle::new(served) }
    }
}

/// An address that refuses connections, until the socket listens.
fn refusing() -> (TcpSocket, Url) {
    let socket = TcpSocket::new_v4().unwrap();
    socket.bind((Ipv4Addr::LOCALHOST, 0).into()).unwrap();
    let url = format!("http://{}", socket.local_addr().unwrap()).parse().unwrap();
    (socket, url)
}

fn client(nodes: &[&Url]) -> Client {
    Client::new(nodes.iter().copied().cloned().collect(), Credentials::None, None).unwrap()
}

async fn is_answered(client: &Client) -> bool {
    client.call(Call::get("_any")).await.is_ok()
}

fn left_out(client: &Client) -> Vec<bool> {
    client.nodes.iter().map(|node| node.with_rest(|rest| rest.until().is_some())).collect()
}

async fn failure_of(status: u16) -> Failure {
    let node = FakeNode::answering(status, r#"{"error":{"reason":"a reason"}}"#).await;
    client(&[&node.url]).call(Call::get("_any")).await.unwrap_err()
}

#[tokio::test]
async fn node_that_refuses_connections_is_left_out() {
    let ((_socket, refusing), node) = (refusing(), FakeNode::answering(200, "{}").await);
    let client = client(&[&refusing, &node.url]);
    for _ in 0..4 {
        assert!(is_answered(&client).await);
    }
    assert_eq!(left_out(&client), [true, false]);
}

#[tokio::test]
async fn node_that_cannot_answer_now_leaves_the_call_to_another() {
    let (busy, mut node) = (FakeNode::answering(503, "{}").await, FakeNode::answering(200, "{}").await);
    let client = client(&[&busy.url, &node.url]);
    assert!(is_answered(&client).await);
    assert!(node.requests.recv().await.unwrap().starts_with("GET /_any "));
    assert_eq!(left_out(&client), [false, false], "it answered");
}

#[tokio::test]
async fn node_that_does_not_answer_in_time_is_left_out() {
    let (hanging, node) = (FakeNode::start(Reply::Nothing).await, FakeNode::answering(200, "{}").await);
    let client = client(&[&hanging.url, &node.url]);
    assert!(is_answered(&client).await);
    assert_eq!(left_out(&client), [true, false]);
}

#[tokio::test]
async fn node_whose_caller_waited_long_in_vain_is_left_out() {
    let (hanging, node) = (FakeNode::start(Reply::Nothing).await, FakeNode::answering(200, "{}").await);
    let client = client(&[&hanging.url, &node.url]);
    let deadline = HANGING + Duration::from_millis(100);
    assert!(tokio::time::timeout(deadline, is_answered(&client)).await.is_err());
    assert_eq!(left_out(&client), [true, false]);
    for _ in 0..2 {
        assert!(is_answered(&client).await);
    }
}

#[tokio::test]
async fn node_whose_caller_gave_up_at_once_is_not_left_out() {
    let hanging = FakeNode::start(Reply::Nothing).await;
    let client = client(&[&hanging.url]);
    assert!(is_answered(&client).now_or_never().is_none());
    assert_eq!(left_out(&client), [false]);
}

#[tokio::test]
async fn only_node_is_asked_also_after_a_failure() {
    let (socket, url) = refusing();
    let client = client(&[&url]);
    assert_eq!(client.call(Call::get("_any")).await.unwrap_err().to_string(), UNREACHABLE);
    let reply = Reply::Bytes(Arc::from(*b"HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\n{}"));
    let _node = FakeNode::listen(socket.listen(8).unwrap(), reply);
    assert!(is_answered(&client).await);
    assert_eq!(left_out(&client), [false]);
}

#[tokio::test]
async fn failures_are_told_apart() {
    let overloaded = failure_of(429).await.to_string();
    assert_eq!(overloaded, BUSY);
    for status in [404, 500, 503] {
        assert_eq!(failure_of(status).await.to_string(), INCOMPLETE, "{status}");
    }
    for status in [401, 403] {
        assert_eq!(failure_of(status).await.to_string(), REFUSED, "{status}");
    }
    let Failure::Failed(text) = failure_of(400).await else { unreachable!("it will not succeed later") };
    assert!(text.contains("a reason"), "{text}");
}

#[tokio::test]
async fn answer_over_the_bound_is_a_failure() {
    let node = FakeNode::start(Reply::Endless).await;
    let failure =
        client(&[&node.url]).call(Call { timeout: WRITE_TIMEOUT, ..Call::get("_any") }).await.unwrap_err();
    let bound = format!("more than {} MiB", MAX_ANSWER_BYTES >> 20);
    assert!(matches!(&failure, Failure::Failed(text) if text.contains(&bound)), "{failure}");
}

#[tokio::test]
async fn credentials_are_sent_and_never_shown() {
    let basic = Credentials::Basic { username: "reader".to_owned(), password: SecretString::from("s3cret") };
    let key = Credentials::ApiKey(SecretString::from("c2VjcmV0"));
    let of_reader = "authorization: Basic cmVhZGVyOnMzY3JldA==\r\n";
    for (credentials, header) in [(basic, of_reader), (key, "authorization: ApiKey c2VjcmV0\r\n")] {
        let mut node = FakeNode::answering(200, "{}").await;
        let mut url = node.url.clone();
        let client = Client::new(vec![url.clone()], credentials.clone(), None).unwrap();
        assert!(is_answered(&client).await);
        let request = node.requests.recv().await.unwrap();
        assert!(request.contains(header), "{request}");

        url.set_password(Some("s3cret")).unwrap();
        let client = Client::new(vec![url], credentials, None).unwrap();
        let shown = format!("{client:?}");
        assert!(shown.contains("127.0.0.1"), "{shown}");
        for secret in ["s3cret", "c2VjcmV0"] {
            assert!(!shown.contains(secret), "{shown}");
        }
    }
}

/// A node with TLS, of the program `openssl`.
struct TlsNode {
    url: Url,
    process: Child,
}

impl Drop for TlsNode {
    fn drop(&mut self) {
        self.process.kill().unwrap();
        self.process.wait().unwrap();
    }
}

impl TlsNode {
    /// Its certificate is signed by `authority` in the folder.
    fn start(folder: &TempDir, authority: &str) -> Self {
        let authority = [format!("{authority}.pem"), format!("{authority}.key")];
        let [certificate, key] = &authority;
        let name = ["-addext", "subjectAltName=DNS:localhost", "-addext", "basicConstraints=CA:FALSE"];
        make_certificate(folder, "node", &[&["-CA", certificate, "-CAkey", key], &name[..]].concat());
        let mut process = Command::new("openssl")
            .args(["s_server", "-accept", "127.0.0.1:0", "-cert", "node.pem", "-key", "node.key", "-www"])
            .current_dir(folder.path())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        let lines = BufReader::new(process.stdout.take().unwrap()).lines();
        let port = lines.map(Result::unwrap).find_map(|line| {
            line.strip_prefix("ACCEPT ").map(|address| address.rsplit_once(':').unwrap().1.to_owned())
        });
        let url = format!("https://localhost:{}", port.unwrap()).parse().unwrap();
        Self { url, process }
    }
}

fn make_certificate(folder: &TempDir, name: &str, options: &[&str]) {
    let [key, certificate] = [format!("{name}.key"), format!("{name}.pem")];
    let subject = format!("/CN={name}");
    let made = Command::new("openssl")
        .args(["req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-noenc"])
        .args(["-subj", &subject, "-keyout", &key, "-out", &certificate])
        .args(options)
        .current_dir(folder.path())
        .output()
        .unwrap();
    assert!(made.status.success(), "{}", String::from_utf8_lossy(&made.stderr));
}

#[tokio::test]
async fn own_authority_is_trusted_and_no_other() {
    let folder = TempDir::new().unwrap();
    for authority in ["ours", "another"] {
        make_certificate(&folder, authority, &[]);
    }
    let node = TlsNode::start(&folder, "ours");
    let asked = async |authority: &str| {
        let trusted = std::fs::read(folder.path().join(format!("{authority}.pem"))).unwrap();
        let client = Client::new(vec![node.url.clone()], Credentials::None, Some(&trusted)).unwrap();
        client.call(Call::get("_any")).await
    };
    asked("ours").await.unwrap();
    assert_eq!(asked("another").await.unwrap_err().to_string(), UNREACHABLE);
    assert!(Client::new(vec![node.url.clone()], Credentials::None, Some(b"no certificate")).is_err());
}
