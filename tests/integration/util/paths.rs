/// Fills a path with an existing module, otherwise with unknown ids.
pub(crate) fn filled(path: &str) -> String {
    let segments = path.split('/').map(|segment| match segment {
        "{moduleCode}" => "article",
        parameter if parameter.starts_with('{') => "x",
        fixed => fixed,
    });
    segments.collect::<Vec<_>>().join("/")
}
