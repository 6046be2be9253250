//! Bare axum storage of files: no checks, signature or hash.

use std::{path::PathBuf, sync::Arc};

use axum::{
    Router,
    body::Body,
    extract::{DefaultBodyLimit, Path, State},
    routing::put,
};
use futures::StreamExt;
use tokio::{fs, io::AsyncWriteExt};
use tokio_util::io::ReaderStream;

/// Bytes of a read and of a write.
const PIECE_BYTES: usize = 256 << 10;

/// `is_durable` syncs each file before the answer.
struct Folder {
    path: PathBuf,
    is_durable: bool,
}

pub(super) fn routes(path: &str, is_durable: bool) -> Router {
    let folder = Folder { path: path.into(), is_durable };
    Router::new()
        .route("/{name}", put(take).get(give).delete(remove))
        .layer(DefaultBodyLimit::disable())
        .with_state(Arc::new(folder))
}

async fn take(State(folder): State<Arc<Folder>>, Path(name): Path<String>, body: Body) {
    let mut file = fs::File::create(folder.path.join(name)).await.unwrap();
    file.set_max_buf_size(PIECE_BYTES);
    let mut pieces = body.into_data_stream();
    while let Some(piece) = pieces.next().await {
        file.write_all(&piece.unwrap()).await.unwrap();
    }
    file.flush().await.unwrap();
    if folder.is_durable {
        file.sync_all().await.unwrap();
    }
}

async fn give(State(folder): State<Arc<Folder>>, Path(name): Path<String>) -> Body {
    let mut file = fs::File::open(folder.path.join(name)).await.unwrap();
    file.set_max_buf_size(PIECE_BYTES);
    Body::from_stream(ReaderStream::with_capacity(file, PIECE_BYTES))
}

async fn remove(State(folder): State<Arc<Folder>>, Path(name): Path<String>) {
    fs::remove_file(folder.path.join(name)).await.unwrap();
}
