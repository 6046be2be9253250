//! `trawl connector new`: writes a source to begin with.

use std::{
    fs::{self, Permissions},
    io,
    os::unix::fs::PermissionsExt,
    path::{Path, PathBuf},
    process::ExitCode,
};

use clap::{ValueEnum, builder::PossibleValue};
use trawl_connectors::{TEMPLATES, Template};

use crate::cli::exit::{WRONG_USAGE, fail};

#[derive(Debug, clap::Args)]
pub(in crate::cli) struct NewOptions {
    /// Directory to create
    directory: PathBuf,
    /// Language of the source
    #[arg(long, value_enum)]
    language: TemplateLanguage,
}

/// The place among [`TEMPLATES`].
#[derive(Clone, Copy, Debug)]
struct TemplateLanguage(usize);

impl ValueEnum for TemplateLanguage {
    fn value_variants<'a>() -> &'a [Self] {
        const { &[Self(0), Self(1), Self(2), Self(3), Self(4)] }
    }

    fn to_possible_value(&self) -> Option<PossibleValue> {
        TEMPLATES.get(self.0).map(|template| PossibleValue::new(template.language))
    }
}

pub(in crate::cli) fn create(options: &NewOptions) -> ExitCode {
    let NewOptions { directory, language: TemplateLanguage(place) } = options;
    let failed = |error: io::Error| format!("{}: {error}", directory.display());
    // An existing directory may hold a person's work.
    if let Err(error) = fs::create_dir(directory) {
        return fail(WRONG_USAGE, failed(error));
    }
    if let Err(error) = write(&TEMPLATES[*place], directory) {
        return fail(1, failed(error));
    }
    println!("A source is in {0}. Test and check it: {0}/check.sh", directory.display());
    ExitCode::SUCCESS
}

fn write(template: &Template, directory: &Path) -> io::Result<()> {
    for (path, content) in template.files() {
        let path = directory.join(path);
        if let Some(folder) = path.parent() {
            fs::create_dir_all(folder)?;
        }
        fs::write(&path, content)?;
        if path.extension().is_some_and(|extension| extension == "sh") {
            fs::set_permissions(&path, Permissions::from_mode(0o755))?;
        }
    }
    Ok(())
}
