//! Queries for one item.

use super::{Clause, Piece, Query, Target};

impl Query {
    /// The same query, which finds at most the item with this id.
    #[must_use]
    pub fn for_item(&self, id: &str) -> Self {
        let pieces = vec![Piece::Term(id.to_owned())];
        let mut query = self.clone();
        query.clauses.push(Clause {
            exclude: false,
            target: Target::Item,
            quoted: false,
            exact: false,
            pieces,
        });
        query
    }
}
