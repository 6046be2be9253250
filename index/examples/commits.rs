#![allow(missing_docs, clippy::all, clippy::pedantic, clippy::unwrap_used)]
use std::time::Instant;
use trawl_index::*;
fn doc(n: usize, round: usize) -> Document {
    Document {
        scope: Scope::new(1, "m"),
        id: format!("{n:08}"),
        display_time: n as i64 * 1000,
        title: format!("一些 text number {n} of {round} more words here"),
        sub_title: String::new(),
        brief: "something about the whales and the sea".into(),
        author: "Ann".into(),
        audience: Audience::Tenant,
        item: format!("{{\"id\":{n}}}"),
    }
}
fn main() {
    let dir = std::env::args().nth(1).unwrap();
    let gap: u64 = std::env::args().nth(2).unwrap().parse().unwrap();
    let fresh = std::env::args().nth(3).is_some();
    let d = tempfile::tempdir_in(dir).unwrap();
    let (index, mut w) = Index::open(d.path(), &Options::default()).unwrap();
    let cp = Checkpoint { store: "s".into(), position: 1, complete: true };
    w.apply((0..200_000).map(|n| Change::Put(doc(n, 0))).collect()).unwrap();
    w.commit(&cp).unwrap();
    w.merge_all().unwrap();
    for size in [1usize, 20, 100] {
        let (mut a, mut c, mut t) = (vec![], vec![], vec![]);
        let mut segs = vec![];
        for r in 0..300usize {
            let changes: Vec<_> = (0..size)
                .map(|i| {
                    Change::Put(doc(
                        if fresh {
                            300_000 + size * 1_000_000 + r * size + i
                        } else {
                            (r * 7919 + i * 131) % 200_000
                        },
                        r,
                    ))
                })
                .collect();
            let s = Instant::now();
            w.apply(changes).unwrap();
            let m = Instant::now();
            w.commit(&cp).unwrap();
            a.push(m - s);
            c.push(m.elapsed());
            t.push(s.elapsed());
            segs.push(index.snapshot().segments());
            if gap > 0 {
                std::thread::sleep(std::time::Duration::from_millis(gap));
            }
        }
        for (n, v) in [("apply", &mut a), ("commit", &mut c), ("total", &mut t)] {
            v.sort();
            println!("{size} {n} p50 {:?} p90 {:?} p99 {:?} max {:?}", v[150], v[270], v[297], v[299]);
        }
        println!(
            "segments max {} avg {}",
            segs.iter().max().unwrap(),
            segs.iter().sum::<usize>() / segs.len()
        );
    }
}
