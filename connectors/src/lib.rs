//! The contract that external sources answer, and the client that calls them.
