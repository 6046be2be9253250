//! Every view of the pages, walked through as a person comes to it, for whoever judges them.

mod console;
mod search;

pub(crate) use self::{
    console::walk as walk_console,
    search::{show_many, walk as walk_search},
};
use crate::util::stage::Stage;

/// Looks at views.
pub(crate) trait Judge {
    /// The browser shows this view now. What was done to it is undone before the next one is opened.
    async fn look_at(&mut self, stage: &Stage, view: &str);
}
