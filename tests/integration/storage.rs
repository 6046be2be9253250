//! The embedded store: what comes in and goes out at signed addresses, and what is left of it when something goes wrong.

mod giving;
mod keeping;
mod receiving;

use aws_lc_rs::digest::{SHA256, digest};
use serde_json::json;

use crate::util::{
    app::{Application, TestApp},
    items::user,
};

/// A server with a tenant and two people.
async fn started() -> (TestApp, Application) {
    let app = TestApp::start().await;
    let acme = app.tenant("acme").await;
    app.sync(&acme.caller, "users", &json!([user("mei", ""), user("lin", "")])).await;
    (app, acme)
}

fn sha256(content: &[u8]) -> String {
    hex::encode(digest(&SHA256, content))
}

/// So many bytes that repeat nowhere near.
fn bytes(count: usize) -> Vec<u8> {
    (0..count).map(|at| u8::try_from((at * 31 + at / 251 + (at >> 16) * 7) % 256).unwrap()).collect()
}

/// An address with one piece of it changed, for each piece that it has.
fn with_changed_pieces(address: &str) -> Vec<String> {
    let url = url::Url::parse(address).unwrap();
    let mut changed = Vec::new();
    let segments: Vec<String> = url.path_segments().unwrap().map(str::to_owned).collect();
    for at in 2..segments.len() {
        let mut segments = segments.clone();
        segments[at].push('1');
        let mut other = url.clone();
        other.set_path(&segments.join("/"));
        changed.push(other.to_string());
    }
    let pairs: Vec<(String, String)> = url.query_pairs().into_owned().collect();
    for at in 0..pairs.len() {
        let (mut longer, mut without) = (pairs.clone(), pairs.clone());
        longer[at].1.insert(0, '1');
        without.remove(at);
        for pairs in [longer, without] {
            let mut other = url.clone();
            other.query_pairs_mut().clear().extend_pairs(pairs);
            changed.push(other.to_string());
        }
    }
    changed
}
