//! The reference source, to copy and to try `trawl connector check` on.
//!
//! An author writes `source`. `tokens` stands for the authorization server, `items` for the data.

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
}

#[tokio::main]
async fn main() -> std::io::Result<()> {
    let listener = TcpListener::bind(Arguments::parse().listen).await?;
    let base = format!("http://{}", listener.local_addr()?);
    let tokens = tokens::IssuedTokens::default();
    let service = source::router(items::collection("doc"), tokens.clone()).merge(tokens::router(tokens));
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
