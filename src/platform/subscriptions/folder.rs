//! Reads a folder of files on the server's machine.

mod ignored;
mod walk;

use std::{
    collections::{HashMap, HashSet},
    fs::File,
    os::fd::OwnedFd,
    path::{Path, PathBuf},
    sync::Arc,
};

use futures::{StreamExt, TryStreamExt};
use serde::Serialize;
use tokio::{io::AsyncReadExt, task::spawn_blocking};
use tokio_util::io::ReaderStream;

pub(crate) use self::ignored::IgnoredNames;
use self::walk::{Found, FoundFile};
use super::{
    batch::{ItemBatch, NewItem, RunProgress},
    entries::{entry_id, item_id},
    forms::Folder,
    repo,
    report::{EntryProblem, RunOutcome},
    run::{FinishedRun, Run, RunStop},
    schedule::oldest_kept,
};
use crate::{
    blobs::extraction::{
        MAX_BYTES, MAX_PLAIN_BYTES, NO_READER, TextFormat,
        process::{ExtractedText, ExtractionOutcome},
    },
    error::Error,
    platform::contents::forms::{Content, checked},
    rows::{content::MAX_BRIEF_BYTES, row::truncate},
};

/// Marks the stamp of a cut text, which is read again.
const CUT: &str = "-cut";

/// Marks the stamp of a text that is not whole, which is counted by each run.
const INCOMPLETE: &str = "-incomplete";

const AS_BEFORE: &str = "its text is not whole, for the reason in attachInfo of its item";

const EMPTY: &str = "the folder holds no readable file, unlike before: is its disk mounted? Its items stay; removing the \
                     subscription removes them";

/// Reads new and changed files; removes items of absent or old files.
///
/// Items beneath a path that cannot be read stay.
pub(super) async fn read(run: &mut Run<'_>, folder: &Folder) -> Result<FinishedRun, RunStop> {
    let (tenant_id, id) = (run.begun.tenant_id, run.begun.settings.id.clone());
    let (path, roots) = (folder.path.clone(), Arc::clone(&run.runner.state.folders));
    let ignored = Arc::clone(&run.runner.state.ignored_names);
    let walked = spawn_blocking(move || {
        let root = walk::open_root(&path, &roots)?;
        let found = walk::walk(&root, &ignored)?;
        Ok::<_, walk::WalkError>((Arc::new(root), found))
    });
    let walked = walked.await.map_err(Error::internal)?;
    let (root, Found { files, unread, left_out }) =
        walked.map_err(|error| RunStop::failed(format!("the folder {error}")))?;
    run.leave_out(left_out);
    for (path, error) in &unread {
        run.refuse(problem(path, error.to_string()));
    }
    let known = repo::known_entries(run.runner.state.contents.store.reader(), tenant_id, &id)
        .await
        .map_err(Error::from)?;
    let known: HashMap<String, String> = known.into_iter().collect();
    if files.is_empty() && !known.is_empty() {
        return Err(RunStop::failed(EMPTY));
    }
    let oldest = oldest_kept(run.runner.state.clock.now(), run.begun.settings.keep_days);
    let (mut seen, mut items) = (HashSet::new(), Vec::new());
    // The next run reads files again whose text was cut off.
    let mut has_progressed = false;
    for file in files {
        run.receive(1);
        let Some(path) = file.path.to_str() else {
            run.refuse(problem(&file.path, "its name must be UTF-8"));
            continue;
        };
        if milliseconds(&file) < oldest {
            continue;
        }
        let item_id = item_id(&id, path);
        seen.insert(item_id.clone());
        let hash = stamp(&file);
        match known.get(&item_id).and_then(|known| known.strip_prefix(&hash)) {
            Some("") => continue,
            Some(INCOMPLETE) => {
                run.note_incomplete(problem(&file.path, AS_BEFORE));
                continue;
            }
            _ => {}
        }
        let (text, is_cut) = match open(&root, &file).await? {
            Ok(content) => extract(run, path, file.size, content).await?,
            Err(error) => {
                run.refuse(problem(&file.path, error.to_string()));
                continue;
            }
        };
        let text = kept(text);
        let is_incomplete = text.problem.as_deref().is_some_and(|problem| problem != NO_READER);
        if is_incomplete {
            run.note_incomplete(problem(&file.path, text.problem.clone().unwrap_or_default()));
        }
        let mark = if is_cut {
            CUT
        } else if is_incomplete {
            INCOMPLETE
        } else {
            ""
        };
        let hash = hash + mark;
        match checked(content(item_id, path, text, &file)) {
            Ok(content) => {
                has_progressed |= !is_cut;
                items.push(NewItem { content, hash });
            }
            Err(reason) => run.refuse(problem(&file.path, reason)),
        }
        items = run.write_but_last(items).await?;
        if has_progressed && let Err(stop) = run.give_way() {
            run.write(ItemBatch { items, gone: Vec::new() }, RunProgress::Stay).await?;
            return Err(stop);
        }
    }
    let unread: HashSet<PathBuf> = unread.into_iter().map(|(path, _)| path).collect();
    // An item that does not tell its path may lie beneath each of them.
    let may_be_unread = |item_id: &str| {
        let is_beneath = |file: &str| Path::new(file).ancestors().any(|path| unread.contains(path));
        !unread.is_empty() && entry_id(&id, item_id).is_none_or(is_beneath)
    };
    let gone = known.into_keys().filter(|id| !seen.contains(id) && !may_be_unread(id)).collect();
    let gone = run.remove_but_last(gone).await?;
    Ok(FinishedRun {
        outcome: RunOutcome::Read,
        position: None,
        batch: ItemBatch { items, gone },
        is_whole: true,
    })
}

fn problem(path: &Path, reason: impl Into<String>) -> EntryProblem {
    EntryProblem { id: Some(path.to_string_lossy().into_owned()), reason: reason.into() }
}

/// Equal while size and time of modification are.
fn stamp(file: &FoundFile) -> String {
    format!("{}-{}", file.size, file.modified)
}

fn milliseconds(file: &FoundFile) -> i64 {
    i64::try_from(file.modified / 1_000_000).unwrap_or_default().max(0)
}

async fn open(root: &Arc<OwnedFd>, file: &FoundFile) -> Result<std::io::Result<File>, RunStop> {
    let (root, path) = (Arc::clone(root), file.path.clone());
    Ok(spawn_blocking(move || walk::open(&root, &path)).await.map_err(Error::internal)?)
}

/// The text of a file, and whether it was cut off.
async fn extract(run: &Run<'_>, path: &str, size: u64, file: File) -> Result<(ExtractedText, bool), RunStop> {
    let most = if size <= MAX_BYTES { MAX_BYTES } else { MAX_PLAIN_BYTES };
    let file = tokio::fs::File::from_std(file).take(most);
    let pieces = ReaderStream::new(file).map_err(Error::internal).boxed();
    Ok(
        match run
            .runner
            .texts
            .read(run.asker(), TextFormat::of_extension(extension_of(path)), size, pieces)
            .await?
        {
            ExtractionOutcome::Ended(text) => (text, false),
            ExtractionOutcome::Cut { text, why } => {
                tracing::debug!(why, "the text of a subscribed file was cut off");
                (ExtractedText { text, problem: Some(why) }, true)
            }
        },
    )
}

fn extension_of(path: &str) -> &str {
    Path::new(path).extension().and_then(|extension| extension.to_str()).unwrap_or_default()
}

/// The beginning of a text that an item may hold.
fn kept(mut extracted: ExtractedText) -> ExtractedText {
    if truncate(&mut extracted.text, MAX_BRIEF_BYTES) {
        let cut = format!("its text is cut at {MAX_BRIEF_BYTES} bytes");
        extracted.problem =
            Some(extracted.problem.map_or(cut.clone(), |problem| format!("{problem}; {cut}")));
    }
    extracted
}

/// What an item tells of its file, as items of uploaded files do.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct FolderFileAttributes<'a> {
    extension: &'a str,
    size: u64,
    #[serde(skip_serializing_if = "Option::is_none")]
    text_problem: Option<String>,
}

fn content(id: String, path: &str, extracted: ExtractedText, file: &FoundFile) -> Content {
    let ExtractedText { text, problem } = extracted;
    let (folder, name) = path.rsplit_once('/').map_or((None, path), |(folder, name)| (Some(folder), name));
    let attached =
        FolderFileAttributes { extension: extension_of(path), size: file.size, text_problem: problem };
    Content {
        id,
        title: Some(name.to_owned()),
        sub_title: folder.map(str::to_owned),
        brief: (!text.trim().is_empty()).then_some(text),
        display_time: Some(milliseconds(file)),
        attach_info: serde_json::to_string(&attached).ok(),
        ..Content::default()
    }
}
