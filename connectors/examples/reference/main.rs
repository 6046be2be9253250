//! The reference source, to copy and to try `trawl connector check` on.
//!
//! An author writes `source`. `tokens` stands for the authorization server, `items` for the data.

mod assertions;
mod items;
mod source;
mod tokens;

use std::net::SocketAddr;

use clap::Parser;
use tokio::net::TcpListener;

/// A correct search source on this machine.
#[derive(Parser)]
struct Arguments {
    /// Where to listen; port 0 picks a free one.
    #[arg(long, default_value = "127.0.0.1:0")]
    listen: SocketAddr,
    /// Address of trawl's `/oauth2/jwks`; searches then need an assertion.
    #[arg(long)]
    assertion_keys: Option<String>,
    /// People who have a paper of their own, by id.
    #[arg(long = "person", requires = "assertion_keys")]
    people: Vec<String>,
}

#[tokio::main]
async fn main() -> std::io::Result<()> {
    let Arguments { listen, assertion_keys, people } = Arguments::parse();
    let listener = TcpListener::bind(listen).await?;
    let base = format!("http://{}", listener.local_addr()?);
    let tokens = tokens::IssuedTokens::default();
    let assertions = assertion_keys.map(|keys_url| assertions::Assertions::new(&keys_url, &base));
    let papers = items::collection_of("doc", &people);
    let service = source::router(papers, tokens.clone(), assertions).merge(tokens::router(tokens));
    println!("source     {base}/search");
    println!("tokens     {base}/token");
    println!("client     {}, with a secret for demonstrations that everyone knows", tokens::CLIENT_ID);
    println!("\nIn another terminal:\n");
    println!("trawl connector check {base}/search --keyword harbour --token-url {base}/token \\");
    println!(
        "  --client-id {} --client-secret-file {} --scope {}",
        tokens::CLIENT_ID,
        concat!(env!("CARGO_MANIFEST_DIR"), "/examples/reference/demo-secret.txt"),
        source::SCOPE
    );
    axum::serve(listener, service).await
}
