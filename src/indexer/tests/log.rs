//! Entries that are gone, and changes that its reader meets.

use super::*;

#[tokio::test]
async fn entries_that_are_gone_are_noticed_by_their_reader() {
    let directory = tempfile::tempdir().unwrap();
    let (store, _) = store(directory.path(), 30).await;
    let cut = store.write(|transaction| {
        Box::pin(async move { Ok(change_log::remove_up_to(transaction, 10, 100).await?) })
    });
    cut.await.unwrap();
    for (position, is_gone) in [(9, true), (10, false)] {
        let mut reading = Reading::from(&store, position);
        let first = reading.steps.recv().await.unwrap();
        assert_eq!(matches!(first, ReaderStep::Truncated), is_gone, "from {position}");
        drop(reading.steps);
        reading.task.await.unwrap().unwrap();
    }
}

/// A reader of the log, in the place of its follower.
struct Reading {
    steps: mpsc::Receiver<ReaderStep>,
    rests: watch::Sender<Rest>,
    waiting: WaitingSearches,
    task: JoinHandle<crate::error::Result<()>>,
}

impl Reading {
    fn from(store: &Store, position: i64) -> Self {
        let (sender, steps) = mpsc::channel(1);
        let (rests, resting) = watch::channel(Rest::after(position, Duration::ZERO));
        let waiting = WaitingSearches::default();
        let reader = LogReader {
            rows: Rows { store: store.clone(), public_url: "https://trawl.example".into() },
            positions: store.positions(),
            batch_changes: 100,
            steps: sender,
            rests: resting,
            waiting: waiting.clone(),
        };
        Self { steps, rests, waiting, task: tokio::spawn(reader.run(position)) }
    }

    /// The next position that is reached, and the changes up to it.
    async fn reach(&mut self) -> (i64, usize) {
        let mut count = 0;
        loop {
            let step = tokio::time::timeout(Duration::from_mins(1), self.steps.recv()).await;
            match step.unwrap().unwrap() {
                ReaderStep::Apply(changes) => count += changes.len(),
                ReaderStep::Reach { position, caught_up } => {
                    assert!(caught_up.is_some());
                    return (position, count);
                }
                ReaderStep::CaughtUp(_) => {}
                ReaderStep::Truncated | ReaderStep::Lost => panic!("no entry is gone"),
            }
        }
    }
}

#[tokio::test]
async fn changes_gather_until_the_index_has_rested() {
    let directory = tempfile::tempdir().unwrap();
    let (store, tenant) = store(directory.path(), 1).await;
    let mut reading = Reading::from(&store, 0);
    assert_eq!(reading.reach().await, (1, 1));
    for number in 1..4 {
        put(&store, tenant, number..number + 1).await;
    }
    reading.rests.send_replace(Rest::after(1, Duration::ZERO));
    assert_eq!(reading.reach().await, (4, 3));
}

#[tokio::test]
async fn search_that_waits_ends_the_rest() {
    let directory = tempfile::tempdir().unwrap();
    let (store, tenant) = store(directory.path(), 1).await;
    let mut reading = Reading::from(&store, 0);
    assert_eq!(reading.reach().await, (1, 1));
    let end = std::time::Instant::now() + Duration::from_hours(1);
    reading.rests.send_replace(Rest { position: 1, end });
    let _waiting = reading.waiting.add();
    put(&store, tenant, 1..2).await;
    assert_eq!(reading.reach().await, (2, 1));
}

#[tokio::test]
async fn engines_of_one_process_keep_what_the_slower_has_not_followed() {
    let directory = tempfile::tempdir().unwrap();
    let (store, _) = store(directory.path(), 0).await;
    let announcers = [0, 1].map(|_| Announcer::new(store.commits(), Freshness::default()));
    let followed = Followed::default();
    assert_eq!(followed.least(), i64::MAX);
    for announcer in [&announcers[0], &announcers[1], &announcers[0]] {
        followed.add(announcer.subscribe());
    }
    announcers[0].reach(7);
    assert_eq!(followed.least(), 0);
    announcers[1].reach(5);
    assert_eq!(followed.least(), 5);
    followed.remove(&announcers[1].subscribe());
    assert_eq!(followed.least(), 7);
}

/// A task done between both reads is in the other module already.
#[tokio::test]
async fn moved_task_is_indexed_by_its_present_state() {
    let directory = tempfile::tempdir().unwrap();
    let (store, tenant) = store(directory.path(), 0).await;
    let indexer = level(&store, directory.path()).await;
    for (status, standing) in [(0, [1, 0]), (1, [0, 1])] {
        let written = store.write(move |transaction| {
            Box::pin(async move {
                let text = "INSERT OR REPLACE INTO tasks (id, tenant_id, application, app_task_id, status, \
                            assignee_login_id, created_at, task) VALUES ('t', ?, 'a', 't', ?, 'mei', 1, ?)";
                let task = r#"{"appTaskId": "t", "title": "harbour", "assigneeLoginId": "mei"}"#;
                sql(text, [tenant.into(), status.into(), task.into()]).execute(transaction).await?;
                transaction.record_change(tenant, "todo", "t");
                Ok(())
            })
        });
        written.await.unwrap();
        settle(&store, &indexer).await;
        let ServedView { view, .. } = indexer.served().view(&viewer(tenant)).unwrap();
        let mut totals = [0; 2];
        for (total_of_module, module) in totals.iter_mut().zip(["todo", "done"]) {
            *total_of_module = total(&*view, tenant, module, ["l:mei".to_owned()].into()).await;
        }
        assert_eq!(totals, standing);
    }
    indexer.stop().await;
}

#[tokio::test]
async fn many_waiting_changes_are_a_bulk_that_ends_with_a_commit() {
    let (directory, store, tenant) = filled(10).await;
    let (mut follower, served) = steps(&store, directory.path(), false).await;
    follower.prepare().await.unwrap();
    let mut asked_of_sink = record(&mut follower, &served, None);
    for first in (10..2_510).step_by(100) {
        put(&store, tenant, first..first + 100).await;
    }
    let stop = follower.stop.clone();
    let task = tokio::spawn(follower.run());
    let ending = async {
        let mut asked = Vec::new();
        while !asked.ends_with(&[Asked::Bulk(false), Asked::Commit(2_510)]) {
            asked.push(asked_of_sink.recv().await.unwrap());
        }
        asked
    };
    let asked = tokio::time::timeout(Duration::from_mins(1), ending).await.unwrap();
    assert!(asked.iter().find(|asked| **asked != Asked::Apply) == Some(&Asked::Bulk(true)), "{asked:?}");
    assert!(asked[..asked.len() - 2].contains(&Asked::Commit(2_510)), "{asked:?}");
    assert!(!asked[..asked.len() - 2].contains(&Asked::Bulk(false)), "{asked:?}");
    stop.cancel();
    task.await.unwrap();
}
