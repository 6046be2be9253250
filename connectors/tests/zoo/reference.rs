#[path = "../../examples/reference/assertions.rs"]
pub(super) mod assertions;
#[path = "../../examples/reference/items.rs"]
pub(super) mod items;
#[path = "../../examples/reference/source.rs"]
pub(super) mod source;
#[path = "../../examples/reference/tokens.rs"]
pub(super) mod tokens;
