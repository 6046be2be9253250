//! The built-in full-text engine of trawl: documents, queries and pages over tantivy.
