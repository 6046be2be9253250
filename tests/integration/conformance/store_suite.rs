//! The suite that every content store must pass.

use crate::util::internals::{
    BlobStore, BusinessCode, ComposedContent, Error, ErrorKind, UploadPart, epoch_seconds,
};
use std::ops::Range;

use aws_lc_rs::digest::{SHA256, digest};
use bytes::Bytes;
use futures::TryStreamExt;
use tokio::sync::mpsc;

#[async_trait::async_trait]
pub(super) trait Bench: Send + Sync {
    fn store(&self) -> &dyn BlobStore;

    async fn begin(&self) -> String;

    async fn send(&self, upload_id: &str, part_number: u32, content: Vec<u8>) -> String;
}

pub(super) fn far_off() -> i64 {
    i64::try_from(epoch_seconds()).unwrap() + 3_600
}

/// Prints each step's name first: the last printed step is the failing one.
pub(super) async fn suite(bench: &dyn Bench) {
    step("parts come in any order, and again", parts_are_received(bench)).await;
    step("parts become one content", parts_become_one_content(bench)).await;
    step("compositions of one upload", compositions_are_apart(bench)).await;
    step("a large, a small and an empty part", single_part_is_kept(bench)).await;
    step("a part that changed", changed_part_is_refused(bench)).await;
    step("a tap that nobody listens to", closed_tap_is_ignored(bench)).await;
    step("kept twice", kept_twice(bench)).await;
    step("ranges", ranges(bench)).await;
    step("removed twice", removed_twice(bench)).await;
    step("discarded", discarded(bench)).await;
    step("what is there is listed", stored_contents_are_listed(bench)).await;
}

async fn step(name: &str, work: impl Future<Output = ()>) {
    println!("step: {name}");
    work.await;
}

fn content(length: usize, seed: u32) -> Vec<u8> {
    let mut random = fastrand::Rng::with_seed(seed.into());
    std::iter::repeat_with(|| random.u8(..)).take(length).collect()
}

fn sha256(content: &[u8]) -> String {
    hex::encode(digest(&SHA256, content))
}

async fn read(bench: &dyn Bench, key: &str, range: Range<u64>) -> Result<Vec<u8>, Error> {
    let pieces: Vec<Bytes> = bench.store().read(key, range).await?.try_collect().await?;
    Ok(pieces.concat())
}

async fn composed(bench: &dyn Bench, upload_id: &str) -> ComposedContent {
    let parts = bench.store().parts(upload_id).await.unwrap();
    bench.store().compose(upload_id, &parts, None).await.unwrap()
}

async fn kept(bench: &dyn Bench, content: &[u8]) -> (String, ComposedContent) {
    let upload = bench.begin().await;
    bench.send(&upload, 1, content.to_vec()).await;
    let composed = composed(bench, &upload).await;
    bench.store().keep(&upload, &composed).await.unwrap();
    (upload, composed)
}

async fn end(bench: &dyn Bench, upload_id: &str, composed: &ComposedContent) {
    bench.store().discard(upload_id).await.unwrap();
    bench.store().remove(&composed.store_key).await.unwrap();
}

async fn parts_are_received(bench: &dyn Bench) {
    let upload = bench.begin().await;
    assert_eq!(bench.store().parts(&upload).await.unwrap(), []);
    let third = bench.send(&upload, 3, content(30, 1)).await;
    bench.send(&upload, 1, content(10, 2)).await;
    let last = bench.send(&upload, 10_000, content(7, 3)).await;
    let first = bench.send(&upload, 1, content(11, 4)).await;
    let parts = bench.store().parts(&upload).await.unwrap();
    let expected = [(1, 11, first), (3, 30, third), (10_000, 7, last)]
        .map(|(number, size, e_tag)| UploadPart { number, size, e_tag });
    assert_eq!(parts, expected);
    assert!(bench.store().uploads().await.unwrap().contains(&upload));
    bench.store().discard(&upload).await.unwrap();
}

async fn parts_become_one_content(bench: &dyn Bench) {
    let upload = bench.begin().await;
    let pieces = [content(5 << 20, 5), content((5 << 20) + 1, 6), content(3, 7)];
    for (piece, number) in pieces.iter().zip([2, 5, 9]) {
        bench.send(&upload, number, piece.clone()).await;
    }
    let whole = pieces.concat();
    let (tap, mut tapped) = mpsc::channel::<Bytes>(4);
    let listening = tokio::spawn(async move {
        let mut heard = Vec::new();
        while let Some(piece) = tapped.recv().await {
            heard.extend_from_slice(&piece);
        }
        heard
    });
    let parts = bench.store().parts(&upload).await.unwrap();
    let composed = bench.store().compose(&upload, &parts, Some(tap)).await.unwrap();
    assert_eq!((composed.sha256.as_str(), composed.size), (sha256(&whole).as_str(), whole.len() as u64));
    assert!(listening.await.unwrap() == whole, "the tap received other bytes");
    assert!(!keys(bench).await.contains(&composed.store_key));
    bench.store().keep(&upload, &composed).await.unwrap();
    assert!(
        read(bench, &composed.store_key, 0..composed.size).await.unwrap() == whole,
        "another content was kept"
    );
    let fewer = [parts[0].clone(), parts[2].clone()];
    let other = bench.store().compose(&upload, &fewer, None).await.unwrap();
    assert_eq!(other.sha256, sha256(&[pieces[0].as_slice(), &pieces[2]].concat()));
    bench.store().discard(&upload).await.unwrap();
    assert!(
        read(bench, &composed.store_key, 0..composed.size).await.unwrap() == whole,
        "discarded with its upload"
    );
    bench.store().remove(&composed.store_key).await.unwrap();
}

/// Composes one upload twice.
///
/// Two replicas do so if one counted as dead meanwhile.
async fn compositions_are_apart(bench: &dyn Bench) {
    let upload = bench.begin().await;
    for (number, piece) in [(1, "high "), (2, "tide")] {
        bench.send(&upload, number, piece.into()).await;
    }
    let composed = composed(bench, &upload).await;
    let second = &bench.store().parts(&upload).await.unwrap()[1..];
    let other = bench.store().compose(&upload, second, None).await.unwrap();
    bench.store().remove_composed(&upload, &other).await.unwrap();
    assert!(bench.store().keep(&upload, &other).await.is_err(), "the composed content still exists");
    bench.store().keep(&upload, &composed).await.unwrap();
    assert_eq!(read(bench, &composed.store_key, 0..9).await.unwrap(), b"high tide");
    end(bench, &upload, &composed).await;
}

async fn single_part_is_kept(bench: &dyn Bench) {
    for whole in [content((17 << 20) + 5, 8), b"harbour".to_vec(), Vec::new()] {
        let (upload, composed) = kept(bench, &whole).await;
        assert_eq!((composed.sha256.as_str(), composed.size), (sha256(&whole).as_str(), whole.len() as u64));
        assert!(
            read(bench, &composed.store_key, 0..composed.size).await.unwrap() == whole,
            "another content was kept"
        );
        end(bench, &upload, &composed).await;
    }
}

async fn changed_part_is_refused(bench: &dyn Bench) {
    let upload = bench.begin().await;
    bench.send(&upload, 1, content(20, 9)).await;
    bench.send(&upload, 2, content(20, 10)).await;
    let parts = bench.store().parts(&upload).await.unwrap();
    bench.send(&upload, 2, content(20, 11)).await;
    let refused = bench.store().compose(&upload, &parts, None).await.unwrap_err();
    assert_eq!(refused.kind, ErrorKind::Business(BusinessCode::General));
    assert!(refused.message.starts_with("partNumber 2: "), "{}", refused.message);
    let whole = [content(20, 9), content(20, 11)].concat();
    assert_eq!(composed(bench, &upload).await.sha256, sha256(&whole));
    bench.store().discard(&upload).await.unwrap();
}

async fn closed_tap_is_ignored(bench: &dyn Bench) {
    let upload = bench.begin().await;
    let whole = content(3 << 20, 12);
    bench.send(&upload, 1, whole.clone()).await;
    let parts = bench.store().parts(&upload).await.unwrap();
    let (tap, mut tapped) = mpsc::channel(1);
    let listening = tokio::spawn(async move { tapped.recv().await.map(|piece: Bytes| piece.len()) });
    let composed = bench.store().compose(&upload, &parts, Some(tap)).await.unwrap();
    assert_eq!(composed.sha256, sha256(&whole));
    assert!(
        listening.await.unwrap().is_some_and(|length| length <= 256 << 10),
        "the tap received too large a piece"
    );
    bench.store().discard(&upload).await.unwrap();
}

async fn kept_twice(bench: &dyn Bench) {
    let (first, composed_first) = kept(bench, b"the same").await;
    let (second, composed_second) = kept(bench, b"the same").await;
    assert_eq!(composed_first.store_key, composed_second.store_key);
    bench.store().keep(&second, &composed_second).await.unwrap();
    for upload in [first, second] {
        bench.store().discard(&upload).await.unwrap();
        assert_eq!(read(bench, &composed_first.store_key, 0..8).await.unwrap(), b"the same");
    }
    assert_eq!(keys(bench).await, std::slice::from_ref(&composed_first.store_key));
    bench.store().remove(&composed_first.store_key).await.unwrap();
}

async fn ranges(bench: &dyn Bench) {
    let whole = content((8 << 20) + 100, 13);
    let (upload, composed) = kept(bench, &whole).await;
    let edge = 8 << 20;
    for (from, to) in
        [(0, 1), (0, 0), (5, 5), (1, 70_000), (edge - 1, edge + 1), (edge, edge + 100), (0, edge + 100)]
    {
        let read = read(bench, &composed.store_key, from..to).await.unwrap();
        let range = usize::try_from(from).unwrap()..usize::try_from(to).unwrap();
        assert!(read == whole[range], "{from}..{to}");
    }
    end(bench, &upload, &composed).await;
}

async fn removed_twice(bench: &dyn Bench) {
    let (upload, composed) = kept(bench, b"to be removed").await;
    bench.store().remove(&composed.store_key).await.unwrap();
    for range in [0..13, 0..0, 5..6] {
        assert_eq!(read(bench, &composed.store_key, range).await.unwrap_err().kind, ErrorKind::NotFound);
    }
    bench.store().remove(&composed.store_key).await.unwrap();
    bench.store().keep(&upload, &self::composed(bench, &upload).await).await.unwrap();
    assert_eq!(read(bench, &composed.store_key, 0..13).await.unwrap(), b"to be removed");
    end(bench, &upload, &composed).await;
}

async fn discarded(bench: &dyn Bench) {
    let upload = bench.begin().await;
    for number in 1..=3 {
        bench.send(&upload, number, content(10, number)).await;
    }
    let composed = composed(bench, &upload).await;
    bench.store().discard(&upload).await.unwrap();
    assert_eq!(bench.store().parts(&upload).await.unwrap(), []);
    assert!(bench.store().keep(&upload, &composed).await.is_err(), "the composed content still exists");
    bench.store().discard(&upload).await.unwrap();
    assert!(!bench.store().uploads().await.unwrap().contains(&upload));
}

async fn keys(bench: &dyn Bench) -> Vec<String> {
    let listed: Vec<_> = bench.store().list().await.unwrap().try_collect().await.unwrap();
    listed.into_iter().map(|stored| stored.store_key).collect()
}

async fn stored_contents_are_listed(bench: &dyn Bench) {
    assert_eq!(keys(bench).await, [] as [String; 0]);
    let mut expected = Vec::new();
    for (content, size) in [("one", 3), ("three", 5), ("eleven", 6)] {
        let (upload, composed) = kept(bench, content.as_bytes()).await;
        bench.store().discard(&upload).await.unwrap();
        expected.push((composed.store_key, size));
    }
    let listed: Vec<_> = bench.store().list().await.unwrap().try_collect().await.unwrap();
    let mut listed: Vec<_> = listed.into_iter().map(|stored| (stored.store_key, stored.size)).collect();
    expected.sort();
    listed.sort();
    assert_eq!(listed, expected);
    for (key, _) in expected {
        bench.store().remove(&key).await.unwrap();
    }
    assert_eq!(keys(bench).await, [] as [String; 0]);
}
