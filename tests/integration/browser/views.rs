mod account;
mod console;
mod search;

pub(crate) use self::{
    account::walk as walk_account,
    console::walk as walk_console,
    search::{show_many, walk as walk_search},
};
use crate::util::stage::Stage;

pub(crate) trait Judge {
    async fn look_at(&mut self, stage: &Stage, view: &str);
}
