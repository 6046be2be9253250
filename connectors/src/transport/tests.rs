use std::collections::VecDeque;
use std::net::{IpAddr, SocketAddr};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};

use axum::Router;
use axum::http::header;
use axum::serve::ListenerExt;
use reqwest::dns::{Addrs, Name, Resolve, Resolving};
use reqwest::header::{HeaderMap, HeaderValue};
use reqwest::{Method, StatusCode};
use tokio::net::TcpListener;
use url::Url;

use super::http::find_target;
use super::resolver::{GuardedResolver, NameLookups, PreresolvedNames, with_addresses};
use super::*;
use crate::addresses::{AddressRefusal, AddressRules};
use crate::settings::SettingsError;

struct ScriptedResolver(Mutex<VecDeque<Vec<IpAddr>>>);

impl ScriptedResolver {
    fn new(answers: &[&[&str]]) -> Arc<Self> {
        let answers = answers.iter().map(|answer| answer.iter().map(|ip| ip.parse().unwrap()).collect());
        Arc::new(Self(Mutex::new(answers.collect())))
    }

    fn are_used_up(&self) -> bool {
        self.0.lock().unwrap().is_empty()
    }
}

impl Resolve for ScriptedResolver {
    fn resolve(&self, _: Name) -> Resolving {
        let addresses = self.0.lock().unwrap().pop_front().unwrap();
        let addresses = addresses.into_iter().map(|ip| SocketAddr::new(ip, 0));
        Box::pin(std::future::ready(Ok(Box::new(addresses) as Addrs)))
    }
}

async fn guard(answer: &[&str], is_listed: bool) -> Result<Vec<String>, String> {
    guard_by(&AddressRules::default(), answer, is_listed).await
}

async fn guard_by(rules: &AddressRules, answer: &[&str], is_listed: bool) -> Result<Vec<String>, String> {
    let names = GuardedResolver::new(ScriptedResolver::new(&[answer]), rules, is_listed);
    match names.resolve("wiki.example".parse().unwrap()).await {
        Ok(addresses) => Ok(addresses.map(|address| address.ip().to_string()).collect()),
        Err(error) => Err(error.to_string()),
    }
}

#[tokio::test]
async fn resolver_drops_addresses_that_may_not_be_called() {
    let allowed = |addresses: &[&str]| Ok(addresses.iter().map(|&address| address.to_owned()).collect());
    assert_eq!(guard(&["203.0.113.5", "2001:db8::5"], false).await, allowed(&["203.0.113.5", "2001:db8::5"]));
    let mixed = ["127.0.0.1", "169.254.169.254", "203.0.113.5", "::ffff:127.0.0.1", "fe80::1"];
    assert_eq!(guard(&mixed, false).await, allowed(&["203.0.113.5"]));
    assert_eq!(guard(&mixed, true).await, allowed(&["127.0.0.1", "203.0.113.5", "::ffff:127.0.0.1"]));
    assert_eq!(guard(&["::1"], false).await, Err(AddressRefusal::Loopback.to_string()));
    for never in ["169.254.169.254", "fe80::1", "::ffff:169.254.169.254", "fd00:ec2::254", "0.0.0.0"] {
        for is_listed in [false, true] {
            assert!(guard(&[never], is_listed).await.unwrap_err().contains("never called"), "{never}");
        }
    }
    assert_eq!(guard(&[], true).await, Err("the name has no address".to_owned()));
}

#[tokio::test]
async fn resolver_drops_addresses_out_of_the_listed_networks() {
    let rules = AddressRules::default().within(&["203.0.113.0/24".parse().unwrap()]);
    let [within, outside] = ["203.0.113.5", "203.0.114.5"];
    assert_eq!(guard_by(&rules, &[outside, within], false).await, Ok(vec![within.to_owned()]));
    assert_eq!(guard_by(&rules, &[outside], false).await, Err(AddressRefusal::Network.to_string()));
    assert_eq!(guard_by(&rules, &[outside], true).await, Ok(vec![outside.to_owned()]));
}

#[tokio::test]
async fn finished_lookup_returns_its_permit() {
    let lookups = NameLookups::new(1);
    for _ in 0..3 {
        let found = lookups.find("localhost", ()).await.unwrap();
        assert!(found.iter().all(|address| address.ip().is_loopback() && address.port() == 0), "{found:?}");
        let unknown = lookups.find("nowhere.invalid", ()).await;
        assert_eq!(unknown, Err(TransportError::UNKNOWN_NAME));
        let _may_be_there_at_once = futures::poll!(Box::pin(lookups.find("localhost", ())));
    }
}

#[tokio::test]
async fn request_connects_only_to_its_own_lookup() {
    let connect = async || match PreresolvedNames.resolve("localhost".parse().unwrap()).await {
        Ok(addresses) => Some(addresses.collect::<Vec<SocketAddr>>()),
        Err(_) => None,
    };
    let [one, other] = ["203.0.113.5:0", "203.0.113.6:0"].map(|address| vec![address.parse().unwrap()]);
    let both = futures::future::join(
        with_addresses(one.clone(), connect()),
        with_addresses(other.clone(), connect()),
    );
    assert_eq!(both.await, (Some(one), Some(other)));
    assert_eq!(connect().await, None);
}

/// Closes each connection after its answer. Returns its port and number of connections.
async fn start() -> (u16, Arc<AtomicUsize>) {
    let router = Router::new().fallback(|| async { ([(header::CONNECTION, "close")], "here") });
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let port = listener.local_addr().unwrap().port();
    let connections = Arc::new(AtomicUsize::new(0));
    let counted = Arc::clone(&connections);
    let listener = listener.tap_io(move |_| {
        counted.fetch_add(1, Ordering::SeqCst);
    });
    tokio::spawn(async move { axum::serve(listener, router).await });
    (port, connections)
}

async fn call(http: &Http) -> Result<Vec<u8>, TransportError> {
    let response = http.send(|| Ok(http.request(Method::GET).build()?)).await?;
    read_body(response, 100).await
}

#[tokio::test]
async fn rebound_name_is_refused_at_the_next_connection() {
    let (port, connections) = start().await;
    let url = Url::parse(&format!("http://wiki.example:{port}/")).unwrap();
    let names = ScriptedResolver::new(&[&["127.0.0.1"], &["169.254.169.254"], &[], &["127.0.0.1"]]);
    let rules = AddressRules::new(["wiki.example"]).unwrap();
    let http = Http::with_resolver(SOURCE, &url, &rules, 1, names.clone()).unwrap();

    assert_eq!(call(&http).await.as_deref(), Ok(&b"here"[..]));
    let refused = TransportError::Forbidden(AddressRefusal::Never("a link-local"));
    assert_eq!(call(&http).await, Err(refused));
    assert_eq!(call(&http).await, Err(TransportError::Unreachable("its name is not known")));
    assert_eq!(call(&http).await.as_deref(), Ok(&b"here"[..]));

    assert!(names.are_used_up());
    assert_eq!(connections.load(Ordering::SeqCst), 2);
}

#[tokio::test]
async fn endpoint_client_calls_no_other_host() {
    let url = Url::parse("https://wiki.example/").unwrap();
    let names = ScriptedResolver::new(&[]);
    let http = Http::with_resolver(SOURCE, &url, &AddressRules::default(), 1, names).unwrap();
    let other = || {
        let mut request = http.request(Method::GET).build()?;
        *request.url_mut() = Url::parse("https://other.example/").unwrap();
        Ok(request)
    };
    assert_eq!(http.send(other).await.unwrap_err(), TransportError::Unsendable);
}

#[test]
fn refused_address_gets_no_client() {
    let url = Url::parse("https://127.0.0.1/").unwrap();
    for (endpoint, setting) in [(SOURCE, "url"), (TOKEN_ENDPOINT, "tokenUrl")] {
        let refused = Http::new(endpoint, &url, &AddressRules::default(), 1).err();
        let refusal = AddressRefusal::Loopback;
        assert_eq!(refused, Some(SettingsError::Address { setting, refusal }));
    }
}

#[test]
fn redirect_stays_within_its_origin() {
    let rules = AddressRules::new(["wiki.example", "127.0.0.1"]).unwrap();
    let follow = |from: &str, to: &str| {
        let location = HeaderValue::from_bytes(to.as_bytes()).unwrap();
        find_target(&rules, &Url::parse(from).unwrap(), Some(&location)).map(String::from)
    };
    let followed = |text: &str| Ok(text.to_owned());
    assert_eq!(
        follow("https://wiki.example/a", "HTTPS://Wiki.Example:443/搜"),
        followed("https://wiki.example/%E6%90%9C")
    );
    assert_eq!(follow("http://127.0.0.1/a/b?q=1", "../c"), followed("http://127.0.0.1/c"));
    assert_eq!(follow("http://127.0.0.1/", "http://0x7f.1/c"), followed("http://127.0.0.1/c"));
    for (from, to, shown) in [
        ("https://wiki.example/", "http://wiki.example/", "http://wiki.example"),
        ("http://wiki.example/", "https://wiki.example/", "https://wiki.example"),
        ("https://wiki.example/", "https://wiki.example:8443/", "https://wiki.example:8443"),
        ("https://wiki.example/", "https://wiki.example./", "https://wiki.example."),
        ("https://wiki.example/", "https://a.wiki.example/", "https://a.wiki.example"),
        ("https://wiki.example/", "https://127.0.0.1/", "https://127.0.0.1"),
        ("http://127.0.0.1/", "http://127.0.0.2/", "http://127.0.0.2"),
        ("http://127.0.0.1/", "http://[::ffff:127.0.0.1]/", "http://[::ffff:7f00:1]"),
        ("http://127.0.0.1/", "//wiki.example:8443/secret", "http://wiki.example:8443"),
        ("http://127.0.0.1/", "http://169.254.169.254/latest/meta-data/", "http://169.254.169.254"),
        ("http://127.0.0.1/", "http://name:word@[fe80::1]/", "http://[fe80::1]"),
        ("http://127.0.0.1/", "https://wiki.example/secret?key=1", "https://wiki.example"),
        ("http://127.0.0.1/", "file:///etc/passwd", "a file: address"),
        ("http://127.0.0.1/", "javascript:alert(1)", "a javascript: address"),
    ] {
        let refused = format!("to {shown}, which is not its own scheme, host and port");
        assert_eq!(follow(from, to), Err(refused), "{from} {to}");
    }
    let long = format!("https://{}.example/", "a".repeat(5_000));
    assert!(follow("https://wiki.example/", &long).unwrap_err().len() < 200);
    let named = follow("https://wiki.example/", "https://me@wiki.example/");
    assert_eq!(named, Err("to an address that must not hold a user name or password".to_owned()));
}

#[test]
fn failures_name_their_endpoint() {
    let source = |error: TransportError| error.into_source_error(SOURCE).to_string();
    assert_eq!(
        source(TransportError::Forbidden(AddressRefusal::Never("a metadata"))),
        "the address of the source leads to a metadata address, which is never called"
    );
    assert_eq!(
        TransportError::Unreachable("its name is not known").into_source_error(TOKEN_ENDPOINT).to_string(),
        "the token endpoint cannot be reached: its name is not known"
    );
    assert_eq!(source(TransportError::Broken), "the connection to the source broke off");
    let status = TOKEN_ENDPOINT.describe_status(StatusCode::NOT_FOUND, &HeaderMap::new()).to_string();
    assert_eq!(status, "the token endpoint answered with HTTP 404");
}
