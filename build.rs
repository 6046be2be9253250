//! Bundles each page's script and style sheet into `$OUT_DIR/pages`.

use std::{
    env,
    error::Error,
    ffi::OsStr,
    fs,
    path::{Path, PathBuf},
};

use rolldown::{Bundler, BundlerOptions, CodeSplittingMode, InputItem, OutputFormat, RawMinifyOptions};

const ASSETS: &str = "src/pages/assets";

/// Folders of the pages.
///
/// Each has a `main.js` that imports its modules, and a `main.css` that imports its style sheets.
const PAGES: [&str; 2] = ["console", "search"];

fn main() -> Result<(), Box<dyn Error>> {
    println!("cargo::rerun-if-changed={ASSETS}");
    let assets = fs::canonicalize(ASSETS)?;
    let output = PathBuf::from(env::var_os("OUT_DIR").ok_or("OUT_DIR is not set")?).join("pages");
    if output.exists() {
        fs::remove_dir_all(&output)?;
    }
    copy_rest(&assets, &output)?;
    let runtime = tokio::runtime::Builder::new_multi_thread().build()?;
    for page in PAGES {
        let style = format!("{page}/main.css");
        fs::create_dir_all(output.join(page))?;
        fs::write(output.join(&style), style_sheet(&assets.join(&style))?)?;
        runtime.block_on(bundle_script(&assets, page, &output))?;
    }
    Ok(())
}

/// Copies what is neither script nor style sheet.
fn copy_rest(from: &Path, to: &Path) -> Result<(), Box<dyn Error>> {
    for entry in fs::read_dir(from)? {
        let path = entry?.path();
        let copy = to.join(path.file_name().unwrap_or_default());
        if path.is_dir() {
            copy_rest(&path, &copy)?;
        } else if ![Some("js"), Some("css")].contains(&path.extension().and_then(OsStr::to_str)) {
            fs::create_dir_all(to)?;
            fs::copy(&path, copy)?;
        }
    }
    Ok(())
}

/// A style sheet with its imports inlined, one level deep.
///
/// Addresses in imported ones of other folders would break; they have none.
fn style_sheet(path: &Path) -> Result<String, Box<dyn Error>> {
    let mut whole = String::new();
    for line in fs::read_to_string(path)?.lines() {
        let imported = line.strip_prefix("@import \"").and_then(|rest| rest.strip_suffix("\";"));
        match imported {
            Some(name) => whole += &fs::read_to_string(path.with_file_name(name))?,
            None => whole += line,
        }
        whole.push('\n');
    }
    Ok(whole)
}

async fn bundle_script(assets: &Path, page: &str, output: &Path) -> Result<(), Box<dyn Error>> {
    let main = format!("{page}/main");
    let mut bundler = Bundler::new(BundlerOptions {
        input: Some(vec![InputItem { name: Some(main.clone()), import: format!("./{main}.js") }]),
        cwd: Some(assets.to_owned()),
        dir: Some(output.to_string_lossy().into_owned()),
        format: Some(OutputFormat::Esm),
        code_splitting: Some(CodeSplittingMode::Bool(false)),
        minify: Some(RawMinifyOptions::Bool(true)),
        ..Default::default()
    })
    .map_err(|problems| format!("{page}: {problems}"))?;
    let written = bundler.write().await.map_err(|problems| format!("{page}: {problems}"))?;
    match written.warnings.first() {
        Some(warning) => Err(format!("{page}: {warning}").into()),
        None => Ok(()),
    }
}
