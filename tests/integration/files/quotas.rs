//! Quotas against a model and under concurrent commits.

use std::collections::BTreeMap;

use futures::future::join_all;
use proptest::{collection::vec, option, prelude::*, strategy::ValueTree, test_runner::TestRunner};
use serde_json::{Value, json};

use crate::util::{
    app::{Application, TestApp},
    caller::Caller,
    files::{
        bytes, commit, commit_form, delete, put, put_file, sent, sign, start, sweep_until_contents_are, take,
        try_to_send,
    },
    folders::{folder, give},
    groups,
};

const CASES: u32 = 6;
const OF_SUBJECT: i64 = 60;
const OF_ENTERPRISE: i64 = 100;

#[derive(Clone, Copy, Debug)]
enum Step {
    Sign { by: usize, bytes: Option<i64>, to: Option<usize> },
    Send { upload: usize, bytes: i64 },
    Commit { upload: usize, to: usize, name: u8, replaces: bool },
    Delete { by: usize, file: usize },
}

fn any_step() -> impl Strategy<Value = Step> {
    let (person, size) = (0..2_usize, 0..31_i64);
    prop_oneof![
        3 => (person.clone(), option::of(size.clone()), option::of(0..2_usize))
            .prop_map(|(by, bytes, to)| Step::Sign { by, bytes, to }),
        3 => (any::<usize>(), size).prop_map(|(upload, bytes)| Step::Send { upload, bytes }),
        4 => (any::<usize>(), 0..2_usize, 0..4_u8, any::<bool>())
            .prop_map(|(upload, to, name, replaces)| Step::Commit { upload, to, name, replaces }),
        1 => (person, any::<usize>()).prop_map(|(by, file)| Step::Delete { by, file }),
    ]
}

#[derive(Clone, Debug)]
struct Upload {
    by: usize,
    signed: Value,
    declared: Option<i64>,
    root: usize,
    reserved: i64,
    sent: Option<i64>,
}

#[derive(Default)]
struct Account {
    uploads: Vec<Upload>,
    files: BTreeMap<(usize, u8), (String, Vec<i64>)>,
}

impl Account {
    fn used(&self, of: Option<usize>) -> i64 {
        let files = self.files.iter().filter(|((folder, _), _)| of.is_none_or(|of| of == *folder));
        files.flat_map(|(_, (_, versions))| versions).sum()
    }

    /// The code of the quota that `bytes` more exceed, without the reservation of upload `but`.
    fn exceeded(&self, root: usize, but: Option<usize>, bytes: i64) -> Option<u32> {
        let root = Some(root);
        let others = || self.uploads.iter().enumerate().filter(|(place, _)| Some(*place) != but);
        let reserved = |of: Option<usize>| {
            others()
                .filter(|(_, upload)| of.is_none() || of == Some(upload.root))
                .map(|(_, upload)| upload.reserved)
                .sum::<i64>()
        };
        if self.used(root) + reserved(root) + bytes > OF_SUBJECT {
            return Some(430_015);
        }
        (self.used(None) + reserved(None) + bytes > OF_ENTERPRISE).then_some(430_016)
    }
}

struct World {
    app: TestApp,
    people: [Caller; 2],
    folders: [String; 2],
    account: Account,
}

async fn world() -> (World, Application) {
    let (app, acme) = TestApp::start_with_acme().await;
    let people = groups::people(&app, &acme, ["mei", "omar"]).await;
    let folders = [folder(&people[0], "", "Mei's").await, folder(&people[1], "", "Omar's").await];
    give(&people[0], &folders[0], "editor", &["omar"]).await;
    give(&people[1], &folders[1], "editor", &["mei"]).await;
    (World { app, people, folders, account: Account::default() }, acme)
}

impl World {
    async fn take(&mut self, step: Step) {
        match step {
            Step::Sign { by, bytes, to } => self.sign(by, bytes, to).await,
            Step::Send { upload, bytes } if !self.account.uploads.is_empty() => {
                self.send(upload % self.account.uploads.len(), bytes).await;
            }
            Step::Commit { upload, to, name, replaces } if !self.account.uploads.is_empty() => {
                self.commit(upload % self.account.uploads.len(), to, name, replaces).await;
            }
            Step::Delete { by, file } if !self.account.files.is_empty() => {
                let place = *self.account.files.keys().nth(file % self.account.files.len()).unwrap();
                let (id, _) = self.account.files.remove(&place).unwrap();
                delete(&self.people[by], &[&id]).await.ok();
            }
            _ => {}
        }
    }

    async fn sign(&mut self, by: usize, bytes: Option<i64>, to: Option<usize>) {
        let said = json!({"fileSize": bytes, "dirId": to.map(|to| &self.folders[to])});
        let answer = self.people[by].post("/v1/stream/upload", &said).await;
        // The person's quota counts if there is no folder.
        let root = to.unwrap_or(by);
        match self.account.exceeded(root, None, bytes.unwrap_or(0)) {
            Some(code) => drop(answer.fails_in_business(code, "fileSize")),
            None => self.account.uploads.push(Upload {
                by,
                signed: answer.ok().data().clone(),
                declared: bytes,
                root,
                reserved: bytes.unwrap_or(0),
                sent: None,
            }),
        }
    }

    async fn send(&mut self, place: usize, size: i64) {
        let upload = self.account.uploads[place].clone();
        if upload.sent.is_some() {
            return;
        }
        let content = bytes(u64::try_from(size).unwrap(), usize::try_from(size).unwrap());
        let status = try_to_send(&self.people[upload.by], &upload.signed, &content).await.status();
        let is_too_much = upload.declared.is_some_and(|declared| size > declared)
            || size > upload.reserved && self.account.exceeded(upload.root, Some(place), size).is_some();
        assert_eq!(status, if is_too_much { 413 } else { 200 });
        if !is_too_much {
            let upload = &mut self.account.uploads[place];
            (upload.sent, upload.reserved) = (Some(size), upload.reserved.max(size));
        }
    }

    async fn commit(&mut self, place: usize, to: usize, name: u8, replaces: bool) {
        let upload = self.account.uploads[place].clone();
        let size = upload.sent.unwrap_or(0);
        let id = upload.signed["uploadId"].as_str().unwrap();
        let mut form =
            commit_form(id, &self.folders[to], &format!("{name}.txt"), usize::try_from(size).unwrap());
        form["ondup"] = json!(replaces);
        let answer = commit(&self.people[upload.by], &form).await;
        let exceeded = self.account.exceeded(to, Some(place), size);
        let known = self.account.files.get_mut(&(to, name));
        match (known, exceeded) {
            (Some(_), _) if !replaces => drop(answer.fails_in_business(400, "of this name")),
            (_, Some(code)) => drop(answer.fails_in_business(code, "fileSize")),
            _ if upload.sent.is_none() => drop(answer.fails_in_business(400, "nothing has been sent")),
            (known, None) => {
                let file = answer.ok();
                self.account.uploads.remove(place);
                if let Some((_, versions)) = known {
                    versions.push(size);
                } else {
                    let id = file.data()["id"].as_str().unwrap().to_owned();
                    self.account.files.insert((to, name), (id, vec![size]));
                }
            }
        }
    }

    async fn check(&self) {
        let of_root = "SELECT file_bytes FROM directories WHERE subject = 'u:mei'";
        assert_eq!(self.app.number(of_root).await, self.account.used(Some(0)));
        let of_root = "SELECT file_bytes FROM directories WHERE subject = 'u:omar'";
        assert_eq!(self.app.number(of_root).await, self.account.used(Some(1)));
        let used = self.app.number("SELECT file_bytes FROM tenants WHERE code = 'acme'").await;
        assert_eq!(used, self.account.used(None));
        // Rows of deleted files are removed later.
        let versions = "SELECT COALESCE(SUM(file_versions.size), 0) FROM file_versions JOIN files ON files.id = file_id \
            JOIN directories ON directories.id = directory_id WHERE removed_at IS NULL";
        assert_eq!(self.app.number(versions).await, used);
        let reserved = self.app.number("SELECT COALESCE(SUM(reserved_bytes), 0) FROM uploads").await;
        assert!(used + reserved <= OF_ENTERPRISE, "{used} {reserved}");
        assert!((0..2).all(|person| self.account.used(Some(person)) <= OF_SUBJECT));
    }
}

#[tokio::test]
async fn quotas_equal_the_account_under_random_steps() {
    let mut runner = TestRunner::new(trawl_seeds::cases(CASES));
    let steps = vec(any_step(), 40);
    for case in 0..trawl_seeds::count(CASES) {
        let (mut world, acme) = world().await;
        let operator = world.app.operator().await.caller;
        let quotas = json!({"quotaBytes": OF_ENTERPRISE, "subjectQuotaBytes": OF_SUBJECT});
        operator.put(&format!("/admin/v1/tenants/{}", acme.tenant), &quotas).await.ok();
        for step in steps.new_tree(&mut runner).unwrap().current() {
            println!("case {case}: {step:?}");
            world.take(step).await;
            world.check().await;
        }
    }
}

#[tokio::test]
async fn upload_without_a_folder_reserves_the_persons_quota() {
    let (world, _) = world().await;
    let [mei, omar] = &world.people;
    world.app.execute("UPDATE tenants SET quota_bytes = 100, subject_quota_bytes = 60").await;
    let said = |bytes: i64| json!({"fileSize": bytes});
    let signed = sign(mei, &said(60)).await;
    mei.post("/v1/stream/upload", &said(1)).await.fails_in_business(430_015, "quota of the folder's owner");
    mei.post("/v1/stream/multipart/upload/start", &said(1)).await.fails_in_business(430_015, "quota");
    let open = start(mei).await;
    let part = json!({"uploadId": open, "partNumber": 1, "fileSize": 1});
    mei.post("/v1/stream/multipart/upload/parts", &part).await.fails_in_business(430_015, "quota");
    put(omar, &world.folders[1], "forty", &bytes(1, 40)).await.ok();
    let content = bytes(2, 20);
    assert_eq!(try_to_send(mei, &signed, &content).await.status(), 200);
    let form = commit_form(signed["uploadId"].as_str().unwrap(), &world.folders[1], "twenty", 20);
    commit(mei, &form).await.ok();
    assert_eq!(world.app.number("SELECT file_bytes FROM directories WHERE subject = 'u:omar'").await, 60);
    sign(mei, &said(40)).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn concurrent_commits_never_exceed_the_quota() {
    let (world, _) = world().await;
    let (mei, folder) = (&world.people[0], &world.folders[1]);
    let uploads =
        join_all((0..20_u64).map(|number| async move { sent(mei, &bytes(number, 10)).await })).await;
    world.app.execute("UPDATE tenants SET subject_quota_bytes = 50").await;
    let commits = uploads.iter().enumerate().map(|(number, upload)| async move {
        commit(mei, &commit_form(upload, folder, &format!("{number}"), 10)).await
    });
    let answers = join_all(commits).await;
    let won = answers.iter().filter(|answer| answer.body["code"] == 200).count();
    assert_eq!(won, 5);
    for answer in answers.into_iter().filter(|answer| answer.body["code"] != 200) {
        answer.fails_in_business(430_015, "fileSize");
    }
    assert_eq!(world.app.number("SELECT SUM(file_bytes) FROM directories").await, 50);
}

#[tokio::test(flavor = "multi_thread")]
async fn concurrent_commits_of_one_name_succeed_once() {
    let (world, _) = world().await;
    let (mei, folder) = (&world.people[0], &world.folders[0]);
    let uploads =
        join_all((0..20_u64).map(|number| async move { sent(mei, &bytes(number, 10)).await })).await;
    let commit_all = async |replaces: bool, uploads: &[String]| {
        let commits = uploads.iter().map(|upload| async move {
            let mut form = commit_form(upload, folder, "one.txt", 10);
            form["ondup"] = json!(replaces);
            commit(mei, &form).await
        });
        join_all(commits).await
    };
    let answers = commit_all(false, &uploads).await;
    let (won, lost): (Vec<_>, Vec<_>) = answers.into_iter().partition(|answer| answer.body["code"] == 200);
    assert_eq!(won.len(), 1);
    for answer in lost {
        answer.fails_in_business(400, "of this name");
    }
    // Committed again with overwrite, each becomes a version.
    let answers = commit_all(true, &uploads).await;
    let mut versions: Vec<i64> =
        answers.iter().filter_map(|answer| answer.data()["version"].as_i64()).collect();
    versions.sort_unstable();
    assert_eq!(versions, (2..=20).collect::<Vec<_>>());
    let upload = sent(mei, b"twice").await;
    let form = commit_form(&upload, folder, "twice.txt", 5);
    let twice = join_all((0..8).map(|_| commit(mei, &form))).await;
    assert_eq!(twice.iter().filter(|answer| answer.body["code"] == 200).count(), 1);
}

#[tokio::test(flavor = "multi_thread")]
async fn content_uploaded_again_survives_its_last_deletion() {
    let (world, _) = world().await;
    let [mei, omar] = &world.people;
    for round in 0..10_u64 {
        let content = &bytes(round, 50_000);
        let old = put_file(mei, &world.folders[0], "shared", content).await;
        let going = async {
            delete(mei, &[&old]).await.ok();
            world.app.app.maintenance.make_round().await.unwrap();
        };
        let coming = join_all(
            (0..4)
                .map(|number| async move { put(omar, "root", &format!("{round}-{number}"), content).await }),
        );
        let ((), come) = futures::join!(going, coming);
        world.app.app.maintenance.make_round().await.unwrap();
        for file in come {
            let file = file.ok();
            assert_eq!(take(omar, file.data()["id"].as_str().unwrap(), None).await, *content);
            delete(omar, &[file.data()["id"].as_str().unwrap()]).await.ok();
        }
    }
    sweep_until_contents_are(&world.app, 0).await;
}
