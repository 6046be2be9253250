//! One server over SQLite on a small disk.

use std::{fs, path::PathBuf, sync::Arc};

use rustix::fs::statvfs;
use tempfile::TempDir;
use tokio::time::sleep;

use super::{
    faults::{FAULT_TIME, Machine, kill_readers, soak},
    levers::{Lever, Levers},
    workplace::{Applications, MALLORY, NORTHWIND, SCOPES, Workplace, settings},
};
use crate::util::{
    program::{Server, create_operator, create_with_scopes, own_address},
    small_disk::SmallDisk,
    tls::Authority,
};

const DISK_MIB: u32 = 4_096;
const ITEMS: usize = 4_000;

struct OneServer {
    server: Server,
    levers: Levers,
    /// None where no disk can be mounted.
    disk: Option<SmallDisk>,
    _directory: TempDir,
}

impl Machine for OneServer {
    const FAULTS: &'static [&'static str] =
        &["killed readers", "slow disk", "full disk", "clock ahead", "clock back", "names do not resolve"];

    async fn fail(&mut self, fault: &'static str) {
        match fault {
            "killed readers" => kill_readers(self.server.id()),
            "slow disk" => self.pull(Lever::Disk, 300_000).await,
            "full disk" => self.fill_disk().await,
            "clock ahead" => self.levers.set(Lever::Clock, 7_200),
            "clock back" => self.levers.set(Lever::Clock, 0),
            "names do not resolve" => self.pull(Lever::Names, 1).await,
            _ => unreachable!("{fault}"),
        }
    }

    fn process(&self) -> u32 {
        self.server.id()
    }

    async fn recover(&self) {
        self.server.wait_until_ready().await;
        self.server.wait_for_index().await;
    }

    async fn tasks(&self) -> u64 {
        self.server.gauge("trawl_runtime_tasks").await.unwrap()
    }
}

impl OneServer {
    async fn pull(&self, lever: Lever, value: i64) {
        self.levers.set(lever, value);
        sleep(FAULT_TIME).await;
        self.levers.set(lever, 0);
    }

    async fn fill_disk(&self) {
        let Some(disk) = &self.disk else { return };
        let used = statvfs(disk.path()).unwrap();
        let used = ((used.f_blocks - used.f_bfree) * used.f_frsize) >> 20;
        disk.resize(u32::try_from(used).unwrap() + 1);
        sleep(FAULT_TIME).await;
        disk.resize(DISK_MIB);
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
#[ignore = "tests/soak/run runs it"]
async fn server_with_faults_loses_nothing_and_does_not_grow() {
    let (directory, authority) = (tempfile::tempdir().unwrap(), Authority::new());
    let [data, folder]: [PathBuf; 2] = ["data", "views"].map(|name| directory.path().join(name));
    fs::create_dir(&data).unwrap();
    let disk = SmallDisk::mount_at(&data, DISK_MIB);
    let (levers, listen) = (Levers::new(directory.path()), own_address());
    let environment = || settings(&folder, &authority).into_iter().chain(levers.environment()).collect();
    // It is killed once, before it has to stay flat.
    let server = Server::launch_by(&data, &listen, environment(), &[]).await;
    server.wait_until_ready().await;
    let applications = Applications {
        northwind: create_with_scopes(&data, NORTHWIND, &SCOPES).await,
        mallory: create_with_scopes(&data, MALLORY, &SCOPES).await,
        mallorys_operator: create_operator(&data, MALLORY).await,
        northwinds_operator: create_operator(&data, NORTHWIND).await,
    };
    let workplace = Workplace::new(vec![server.base.clone()], &applications, &authority, 1).await;
    workplace.add_people().await;
    workplace.fill(ITEMS, &folder).await;
    server.kill();
    let server = Server::launch_by(&data, &listen, environment(), &[]).await;
    server.wait_until_complete().await;
    let machine = OneServer { server, levers, disk, _directory: directory };
    soak("one-server", Arc::new(workplace), machine).await;
}
