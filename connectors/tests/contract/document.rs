//! The contract's description in OpenAPI is one, and says what the reference source does.
