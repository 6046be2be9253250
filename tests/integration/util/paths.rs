//! Paths of the route table.

/// The path with something in the place of each parameter: a module that is there, or else nothing that is.
pub(crate) fn filled(path: &str) -> String {
    let segments = path.split('/').map(|segment| match segment {
        "{moduleCode}" => "article",
        parameter if parameter.starts_with('{') => "x",
        fixed => fixed,
    });
    segments.collect::<Vec<_>>().join("/")
}
