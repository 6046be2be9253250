//! The attribute of HTTP operations.

use proc_macro2::{Group, TokenStream};
use quote::quote;
use syn::{
    Attribute, Error, FnArg, GenericArgument, Ident, LitInt, LitStr, Pat, PatTuple, PatTupleStruct, PatType,
    Path, PathArguments, Result, ReturnType, Signature, Token, Type, Visibility,
    parse::{Parse, ParseStream, Parser},
    token::Paren,
};

/// Describes a handler for `/openapi.json`, as far as its signature does not.
///
/// ```text
/// #[operation(
///     groups,                                         // the tag
///     user_id = "The member's id",                    // a path parameter; by default "User id"
///     200 = "The member",                             // the body is what the handler returns
///     404 = "There is no such group",                 // the body of a failure is `FailureEnvelope`
///     502 = "No source answered": NoSourceEnvelope,   // another body; `()` for none
///     BodyRefusals,                                   // a type of responses
///     (status = 206, …),                              // a response as `utoipa::path` takes it
///     security(()),                                   // as there; also `params` and `request_body`
/// )]
/// ```
///
/// The extractors tell parameters and body; `Identified`, `JsonBody`, `JsonList`, `JsonObject` and `IfMatch` add their refusals.
/// The signature names these types themselves, as an alias hides what it stands for.
#[proc_macro_attribute]
pub fn operation(
    attribute: proc_macro::TokenStream,
    handler: proc_macro::TokenStream,
) -> proc_macro::TokenStream {
    let handler = TokenStream::from(handler);
    let described = match describe(attribute.into(), handler.clone()) {
        Ok(arguments) => quote! { #[::utoipa::path(#arguments)] },
        Err(error) => error.into_compile_error(),
    };
    quote! { #described #handler }.into()
}

/// Returns the arguments of `utoipa::path`.
fn describe(attribute: TokenStream, handler: TokenStream) -> Result<TokenStream> {
    let operation: Operation = syn::parse2(handler)?;
    (|input: ParseStream| operation.describe(input)).parse2(attribute)
}

/// A handler's description, as arguments of `utoipa::path`.
#[derive(Default)]
struct Operation {
    /// Variables of path parameters, and descriptions.
    path: Vec<(Ident, String)>,
    parameters: TokenStream,
    request_body: TokenStream,
    responses: TokenStream,
    security: TokenStream,
    /// Body and headers of what the handler returns, if its type tells.
    answer: Option<TokenStream>,
}

/// Reads the signature.
impl Parse for Operation {
    fn parse(input: ParseStream) -> Result<Self> {
        input.call(Attribute::parse_outer)?;
        input.parse::<Visibility>()?;
        let signature: Signature = input.parse()?;
        input.parse::<TokenStream>()?;

        let mut operation = Self::default();
        for input in &signature.inputs {
            if let FnArg::Typed(argument) = input {
                operation.add_argument(argument)?;
            }
        }
        if let ReturnType::Type(_, returned) = &signature.output {
            operation.answer = answer(returned);
        }
        Ok(operation)
    }
}

impl Operation {
    fn add_argument(&mut self, PatType { pat: pattern, ty: extractor, .. }: &PatType) -> Result<()> {
        let Some((name, argument)) = named(extractor) else { return Ok(()) };
        match name.as_str() {
            "Identified" => self.responses.extend(quote! { crate::http::envelope::Refusals, }),
            "IfMatch" => {
                self.parameters.extend(quote! { #extractor, });
                self.responses.extend(quote! { crate::http::precondition::PreconditionRefusal, });
            }
            "JsonBody" | "JsonObject" => {
                self.request_body = quote! { request_body = #argument, };
                self.responses.extend(quote! { crate::http::envelope::BodyRefusals, });
            }
            "JsonList" => {
                self.request_body = quote! { request_body = Vec<#argument>, };
                self.responses.extend(quote! { crate::http::envelope::BodyRefusals, });
            }
            "PathParameter" => self.add_path(pattern)?,
            "QueryParameters" => self.parameters.extend(quote! { #argument, }),
            _ => {}
        }
        Ok(())
    }

    /// Adds the variables of a pattern such as `PathParameter((group_id, user_id))`.
    fn add_path(&mut self, pattern: &Pat) -> Result<()> {
        match pattern {
            Pat::Ident(variable) => {
                let words = capitalized(&variable.ident.to_string().replace('_', " "));
                self.path.push((variable.ident.clone(), words));
                Ok(())
            }
            Pat::Tuple(PatTuple { elems, .. }) | Pat::TupleStruct(PatTupleStruct { elems, .. }) => {
                elems.iter().try_for_each(|pattern| self.add_path(pattern))
            }
            _ => Err(Error::new_spanned(pattern, "expected a variable named like the path parameter")),
        }
    }

    /// Completes the description by the attribute.
    fn describe(mut self, input: ParseStream) -> Result<TokenStream> {
        let tag = input.parse::<Ident>();
        let tag =
            tag.map_err(|error| Error::new(error.span(), "expected the tag, such as `groups`"))?.to_string();
        while !input.is_empty() {
            input.parse::<Token![,]>()?;
            if !input.is_empty() {
                self.add_item(input)?;
            }
        }
        let Self { path, parameters, request_body, responses, security, .. } = self;
        let path = path.iter().map(|(variable, description)| {
            let name = camel_case(&variable.to_string());
            quote! { (#name = String, Path, description = #description) }
        });
        Ok(quote! {
            get, path = "", tag = #tag,
            params(#(#path,)* #parameters),
            #request_body
            responses(#responses),
            #security
        })
    }

    fn add_item(&mut self, input: ParseStream) -> Result<()> {
        let response = if input.peek(LitInt) {
            self.read_response(input)?
        } else if input.peek(Paren) {
            let response: Group = input.parse()?;
            quote! { #response }
        } else if input.peek(Ident) && (input.peek2(Token![=]) || input.peek2(Paren)) {
            return self.add_named(&input.parse()?, input);
        } else {
            let responses = input.parse::<Path>().map_err(|error| {
                Error::new(error.span(), "expected a response such as `404 = \"…\"`, or a path parameter")
            })?;
            quote! { #responses }
        };
        self.responses.extend(quote! { #response, });
        Ok(())
    }

    fn read_response(&self, input: ParseStream) -> Result<TokenStream> {
        let status: LitInt = input.parse()?;
        input.parse::<Token![=]>()?;
        let description: LitStr = input.parse()?;
        let body = if input.parse::<Option<Token![:]>>()?.is_some() { Some(input.parse()?) } else { None };
        let content = match (body, status.base10_parse::<u16>()?) {
            (Some(body), _) if is_unit(&body) => None,
            (Some(body), _) => Some(quote! { body = #body }),
            (None, 200) if self.answer.is_none() => {
                return Err(Error::new(
                    status.span(),
                    "the return type does not tell the body: write `: Type` after the description, or `: ()`",
                ));
            }
            (None, 200) => self.answer.clone(),
            (None, 201..400) => None,
            (None, _) => Some(quote! { body = crate::http::envelope::FailureEnvelope }),
        };
        Ok(quote! { (status = #status, description = #description, #content) })
    }

    fn add_named(&mut self, name: &Ident, input: ParseStream) -> Result<()> {
        if let Some((_, description)) = self.path.iter_mut().find(|(variable, _)| variable == name) {
            input.parse::<Token![=]>()?;
            *description = input.parse::<LitStr>()?.value();
            return Ok(());
        }
        match name.to_string().as_str() {
            "params" => self.parameters.extend(input.parse::<Group>()?.stream()),
            "request_body" if input.peek(Token![=]) => {
                input.parse::<Token![=]>()?;
                let body: Type = input.parse()?;
                self.request_body = quote! { #name = #body, };
            }
            "request_body" => {
                let body: Group = input.parse()?;
                self.request_body = quote! { #name #body, };
            }
            "security" => {
                let security: Group = input.parse()?;
                self.security = quote! { #name #security };
            }
            _ => {
                let expected = "expected a path parameter, `params`, `request_body` or `security`";
                return Err(Error::new(name.span(), expected));
            }
        }
        Ok(())
    }
}

fn answer(returned: &Type) -> Option<TokenStream> {
    let (name, argument) = named(returned)?;
    match (name.as_str(), argument) {
        ("Response", _) => None,
        ("Result", _) => answer(argument?),
        ("Tagged", _) => {
            Some(quote! { body = crate::http::envelope::Envelope<#argument>, headers(("ETag")) })
        }
        ("Envelope", Some(data)) if is_unit(data) => {
            Some(quote! { body = crate::http::envelope::Envelope<Option<String> > })
        }
        _ => Some(quote! { body = #returned }),
    }
}

/// Returns the last name of a type's path, and its first argument.
fn named(of: &Type) -> Option<(String, Option<&Type>)> {
    let Type::Path(path) = of else { return None };
    let last = path.path.segments.last()?;
    let argument = match &last.arguments {
        PathArguments::AngleBracketed(arguments) => match arguments.args.first() {
            Some(GenericArgument::Type(argument)) => Some(argument),
            _ => None,
        },
        _ => None,
    };
    Some((last.ident.to_string(), argument))
}

fn is_unit(of: &Type) -> bool {
    matches!(of, Type::Tuple(tuple) if tuple.elems.is_empty())
}

/// `groupId` of `group_id`.
fn camel_case(name: &str) -> String {
    let mut words = name.split('_');
    let first = words.next().unwrap_or_default().to_owned();
    words.fold(first, |name, word| name + &capitalized(word))
}

fn capitalized(text: &str) -> String {
    let (first, rest) = text.split_at(text.len().min(1));
    first.to_uppercase() + rest
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn signature_tells_parameters_bodies_and_refusals() {
        let attribute = quote! {
            groups, user_id = "The member's id", 200 = "The member",
            404 = "There is no such group",
        };
        let handler = quote! {
            /// Changes a member.
            pub async fn change_member(
                State(state): State<GroupsState>,
                Identified(caller): Identified,
                PathParameter((group_id, user_id)): PathParameter<(String, String)>,
                QueryParameters(query): QueryParameters<MemberQuery>,
                if_match: IfMatch,
                JsonObject(form): JsonObject<MemberForm>,
            ) -> Result<Tagged<Member>> {}
        };
        let arguments = quote! {
            get, path = "", tag = "groups",
            params(
                ("groupId" = String, Path, description = "Group id"),
                ("userId" = String, Path, description = "The member's id"),
                MemberQuery, IfMatch,
            ),
            request_body = MemberForm,
            responses(
                crate::http::envelope::Refusals,
                crate::http::precondition::PreconditionRefusal,
                crate::http::envelope::BodyRefusals,
                (status = 200, description = "The member",
                    body = crate::http::envelope::Envelope<Member>, headers(("ETag"))),
                (status = 404, description = "There is no such group",
                    body = crate::http::envelope::FailureEnvelope),
            ),
        };
        assert_eq!(describe(attribute, handler).unwrap().to_string(), arguments.to_string());
    }

    #[test]
    fn attribute_prevails_over_signature() {
        let attribute = quote! {
            search, security(()), params(Terms), request_body(content = Terms),
            200 = "The items": Items, 303 = "Elsewhere", 502 = "Nobody answered": (), (status = 206), Refusals,
        };
        let handler = quote! { fn search(JsonBody(body): JsonBody<Box<RawValue>>) -> Envelope<()> {} };
        let arguments = quote! {
            get, path = "", tag = "search",
            params(Terms),
            request_body(content = Terms),
            responses(
                crate::http::envelope::BodyRefusals,
                (status = 200, description = "The items", body = Items),
                (status = 303, description = "Elsewhere", ),
                (status = 502, description = "Nobody answered", ),
                (status = 206),
                Refusals,
            ),
            security(())
        };
        assert_eq!(describe(attribute, handler).unwrap().to_string(), arguments.to_string());
    }

    #[test]
    fn misunderstood_attribute_is_refused_with_what_would_be_right() {
        for (attribute, problem) in [
            (quote! { "groups" }, "expected the tag"),
            (quote! { groups 200 = "Done" }, "expected `,`"),
            (quote! { groups, 200 = "Done" }, "the return type does not tell the body"),
            (quote! { groups, group = "The group's id" }, "expected a path parameter"),
            (quote! { groups, responses(Refusals) }, "expected a path parameter"),
            (quote! { groups, "Done" }, "expected a response"),
        ] {
            let handler = quote! { fn handle(PathParameter(group_id): PathParameter) -> Response {} };
            let error = describe(attribute.clone(), handler).unwrap_err().to_string();
            assert!(error.starts_with(problem), "{attribute}: {error}");
        }
    }
}
