//! Names of files and folders that no person made.

/// Names to leave out; `*` stands for any characters, `?` for one.
#[derive(Debug)]
pub(crate) struct IgnoredNames(Vec<String>);

impl IgnoredNames {
    pub(crate) fn new(patterns: &[String]) -> Self {
        Self(patterns.iter().map(|pattern| pattern.to_lowercase()).collect())
    }

    /// Hidden names always are.
    pub(super) fn holds(&self, name: &str) -> bool {
        let name = name.to_lowercase();
        name.starts_with('.') || self.0.iter().any(|pattern| matches(pattern, &name))
    }
}

/// Goes back to the last `*` alone, so that the time is bounded by both lengths.
fn matches(pattern: &str, name: &str) -> bool {
    let (mut pattern, mut name) = (pattern.chars(), name.chars());
    let mut last_star = None;
    loop {
        let before = name.clone();
        match (pattern.next(), name.next()) {
            (None, None) => return true,
            (Some('*'), _) => {
                last_star = Some((pattern.clone(), before.clone()));
                name = before;
            }
            (Some('?'), Some(_)) => {}
            (Some(wanted), Some(found)) if wanted == found => {}
            _ => {
                let Some((behind, mut from)) = last_star else { return false };
                if from.next().is_none() {
                    return false;
                }
                (pattern, name) = (behind.clone(), from.clone());
                last_star = Some((behind, from));
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::IgnoredNames;
    use crate::config::Config;

    #[test]
    fn usual_debris_is_ignored_and_documents_are_not() {
        let ignored = IgnoredNames::new(&Config::default().subscriptions.ignored_names);
        for name in [
            "~$plan.docx",
            "Thumbs.db",
            "THUMBS.DB",
            "desktop.ini",
            ".~lock.plan.odt#",
            "plan.docx.tmp",
            "@eaDir",
            "$RECYCLE.BIN",
            "System Volume Information",
            ".DS_Store",
            "~WRL0001.tmp",
            "film.mkv.crdownload",
            "notes.txt~",
            "#notes.txt#",
            "fees.laccdb",
            "plan.dwl",
            "scan.pdf.part",
            "RECYCLER",
            "__MACOSX",
            "lost+found",
            "@Recycle",
            "#snapshot",
        ] {
            assert!(ignored.holds(name), "{name}");
        }
        for name in [
            "plan.docx",
            "Thumbs.db.txt",
            "tmp",
            "desktop.init",
            "$5 plan.pdf",
            "a~b.txt",
            "template.tmpl",
            "#1 plan.pdf",
            "part.txt",
        ] {
            assert!(!ignored.holds(name), "{name}");
        }
    }

    #[test]
    fn pattern_matches_the_whole_name() {
        let holds = |pattern: &str, name: &str| IgnoredNames::new(&[pattern.to_owned()]).holds(name);
        for (pattern, name, is_held) in [
            ("*.BAK", "plan.bak", true),
            ("a*b*c", "aXbYbZc", true),
            ("a*b*c", "aXbYbZ", false),
            ("?lan", "plan", true),
            ("?", "潮", true),
            ("*", "plan", true),
            ("", "plan", false),
            ("plan", "plans", false),
        ] {
            assert_eq!(holds(pattern, name), is_held, "{pattern} {name}");
        }
        assert!(!holds(&"*a".repeat(200), &"a".repeat(199)));
    }
}
