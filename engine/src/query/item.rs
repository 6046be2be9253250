//! Queries for one item, and for all of an author.

use super::{Clause, Piece, Query, Target, author_pieces};

impl Query {
    /// Finds the items whose author holds the words of a name.
    pub fn of_author(name: &str) -> Self {
        let pieces = author_pieces(name);
        let clause = Clause { exclude: false, target: Target::Author, quoted: false, exact: false, pieces };
        Self {
            clauses: Some(clause).filter(|clause| !clause.pieces.is_empty()).into_iter().collect(),
            ..Self::default()
        }
    }

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
