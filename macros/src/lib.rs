//! The attribute of HTTP operations.

use proc_macro::{Delimiter, Group, TokenStream, TokenTree};

/// Describes a handler like `utoipa::path`, without method and path.
///
/// The description becomes a type with the handler's name.
#[proc_macro_attribute]
pub fn operation(description: TokenStream, handler: TokenStream) -> TokenStream {
    let mut arguments = parse("get, path = \"\",");
    arguments.extend(description);
    let mut path = parse("::utoipa::path");
    path.extend([TokenTree::Group(Group::new(Delimiter::Parenthesis, arguments))]);

    let mut tokens = handler.clone().into_iter();
    let name = tokens.by_ref().find(|token| token.to_string() == "fn").and_then(|_| tokens.next());
    let Some(name) = name else {
        return parse("compile_error!(\"operation: must stand above a function\");");
    };

    let mut output = parse("#");
    output.extend([TokenTree::Group(Group::new(Delimiter::Bracket, path))]);
    output.extend(handler);
    output.extend(parse(&format!(
        "#[doc(hidden)] #[allow(non_camel_case_types)] pub type {name} = __path_{name};"
    )));
    output
}

fn parse(text: &str) -> TokenStream {
    text.parse().unwrap_or_default()
}
