//! The attribute of HTTP operations.

use proc_macro::{Delimiter, Group, TokenStream, TokenTree};

/// Describes a handler like `utoipa::path`, without method and path.
#[proc_macro_attribute]
pub fn operation(description: TokenStream, handler: TokenStream) -> TokenStream {
    let mut arguments = parse("get, path = \"\",");
    arguments.extend(description);
    let mut path = parse("::utoipa::path");
    path.extend([TokenTree::Group(Group::new(Delimiter::Parenthesis, arguments))]);

    let mut output = parse("#");
    output.extend([TokenTree::Group(Group::new(Delimiter::Bracket, path))]);
    output.extend(handler);
    output
}

fn parse(text: &str) -> TokenStream {
    text.parse().unwrap_or_default()
}
