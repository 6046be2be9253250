//! Destinations of RTF by what is shown of them.

/// Destinations without visible text.
pub(super) const HIDDEN: [&str; 25] = [
    "fonttbl",
    "colortbl",
    "stylesheet",
    "info",
    "pict",
    "themedata",
    "colorschememapping",
    "datastore",
    "latentstyles",
    "listtable",
    "listoverridetable",
    "rsidtbl",
    "generator",
    "fldinst",
    "xmlnstbl",
    "filetbl",
    "revtbl",
    "bkmkstart",
    "bkmkend",
    "nonshppict",
    "shprslt",
    "private",
    "mmathPr",
    "pntext",
    "sp",
];

/// Destinations within a line, shown behind it.
pub(super) const ASIDES: [&str; 13] = [
    "footnote",
    "annotation",
    "atnauthor",
    "shptxt",
    "header",
    "headerl",
    "headerr",
    "headerf",
    "footer",
    "footerl",
    "footerr",
    "footerf",
    "do",
];
