//! Replaces words of a keyword and keeps everything else as typed.

use super::clauses::{RawClause, is_operator};
use super::{Query, Target, relaxation};
use crate::text::{ScriptRun, fold, runs};

impl Query {
    /// The keyword with words replaced; `None` if unchanged.
    ///
    /// `replace` gets up to `limit` words, as typed and folded. None is in an exact token or an operator such as `type:file`.
    pub(crate) fn with_words_replaced(
        keyword: &str,
        mut limit: usize,
        mut replace: impl FnMut(&str, ScriptRun<'_>) -> Option<String>,
    ) -> Option<String> {
        let mut replaced = String::with_capacity(keyword.len());
        let mut changed = false;
        let mut rest = keyword;
        loop {
            let clause = rest.trim_start();
            replaced.push_str(&rest[..rest.len() - clause.len()]);
            if clause.is_empty() {
                break;
            }
            let (raw, after) = RawClause::read(clause);
            let consumed = &clause[..clause.len() - after.len()];
            let is_operator = !raw.quoted && is_operator(raw.text);
            let is_looked_for =
                raw.target == Target::Text && !raw.exclude && !raw.text.is_empty() && !is_operator;
            // Only a closing quote can follow.
            let inside = consumed.rfind(raw.text).filter(|_| is_looked_for).map(|start| (start, raw.text));
            let (start, text) = inside.unwrap_or((consumed.len(), ""));
            replaced.push_str(&consumed[..start]);
            let exact: Vec<_> = relaxation::exact_tokens(text).collect();
            let mut unread = text;
            for run in runs(text) {
                let original = run.text();
                let Some((separator, following)) = unread.split_once(original) else { break };
                replaced.push_str(separator);
                let place = text.len() - unread.len() + separator.len();
                unread = following;
                let folded = fold(original);
                let is_single = runs(&folded).nth(1).is_none();
                let is_exact = exact.iter().any(|token| token.contains(&place));
                let instead = match runs(&folded).next() {
                    Some(run) if is_single && !is_exact && limit > 0 => {
                        limit -= 1;
                        replace(original, run)
                    }
                    _ => None,
                };
                changed |= instead.is_some();
                replaced.push_str(instead.as_deref().unwrap_or(original));
            }
            replaced.push_str(unread);
            replaced.push_str(&consumed[start + text.len()..]);
            rest = after;
        }
        changed.then_some(replaced)
    }
}
