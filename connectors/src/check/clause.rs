//! Clauses of the contract, with stable names.

#[derive(Debug)]
pub(super) struct ClauseDefinition {
    pub(super) clause: ContractClause,
    pub(super) id: &'static str,
    /// Their failure implies a failure of this one.
    pub(super) needs: &'static [ContractClause],
    pub(super) title: &'static str,
    pub(super) expected: &'static str,
}

impl ContractClause {
    pub(super) fn definition(self) -> &'static ClauseDefinition {
        &DEFINITIONS[self as usize]
    }
}

macro_rules! clauses {
    ($($clause:ident $id:literal [$($needs:ident),*] $title:literal, $expected:literal;)*) => {
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
        pub(super) enum ContractClause {
            $($clause,)*
        }

        pub(super) const DEFINITIONS: &[ClauseDefinition] = &[$(ClauseDefinition {
            clause: ContractClause::$clause,
            id: $id,
            needs: &[$(ContractClause::$needs),*],
            title: $title,
            expected: $expected,
        },)*];
    };
}

clauses! {
    Token "token" []
        "The token endpoint grants the client a token",
        "a bearer token for the client, its scope and its audience";
    Http "http" []
        "The source can be reached and answers in HTTP",
        "an HTTP response";
    InTime "in-time" []
        "An answer is complete within the timeout",
        "the whole answer before the timeout";
    Redirect "redirect" []
        "The source answers at its own address",
        "no redirect, or at most 3 within scheme, host and port";
    Method "method" []
        "The source takes the method that it is registered with",
        "an answer to the registered method";
    Status "status" []
        "A search that succeeds is HTTP 200",
        "HTTP 200";
    ContentEncoding "content-encoding" []
        "The body is sent as it is or as gzip",
        "no content encoding, or gzip";
    Complete "complete" []
        "The body arrives whole",
        "every byte that was announced";
    Size "size" []
        "The body is not larger than trawl reads",
        "at most the configured size (2 MiB unless set otherwise), decompressed; 100,000 JSON values, 64 levels deep";
    ContentType "content-type" []
        "The content type is JSON",
        "Content-Type: application/json;charset=UTF-8";
    Charset "charset" [ContentType]
        "The content type names UTF-8, or no charset",
        "Content-Type: application/json;charset=UTF-8";
    Utf8 "utf-8" []
        "The body is UTF-8 without a byte order mark",
        "UTF-8, beginning with the JSON itself";
    Json "json" []
        "The body is JSON",
        "one JSON text";
    Envelope "envelope" []
        "The JSON is the envelope",
        "one object";
    Code "code" []
        "`code` is 200 on success",
        "the integer 200";
    Message "message" []
        "`message` is null on success",
        "null";
    Data "data" []
        "`data` is an array on success",
        "an array of items";
    Count "count" []
        "`count` is the number of items sent",
        "the length of `data`, as an integer";
    Total "total" []
        "`total` is the number of all matches",
        "an integer not below the number of items";
    Cursor "cursor" []
        "`cursor` is text, or null at the end",
        "text of 1 to 4,096 bytes, or null";
    ItemId "item-id" []
        "Every item has an id",
        "text of 1 to 512 bytes without control characters";
    ItemIdUnique "item-id-unique" [ItemId]
        "No id is twice on a page",
        "different ids";
    ItemIdStable "item-id-stable" [ItemId]
        "An item keeps its id",
        "the same ids when asked again";
    ItemTitle "item-title" []
        "Every item has a title",
        "text; empty only where `brief` is not";
    ItemText "item-text" []
        "Optional fields are text",
        "text or null, or no field";
    ItemBounds "item-bounds" []
        "No text is longer than trawl keeps",
        "texts within the lengths of the contract";
    ItemDisplayTime "item-display-time" []
        "Every item has a display time",
        "`displayTime` as an integer";
    ItemDisplayTimePlausible "item-display-time-plausible" [ItemDisplayTime]
        "Display times are milliseconds",
        "epoch milliseconds of a likely date, at most 20 years from now";
    ItemAction "item-action" []
        "`action` has the documented form",
        "text holding a JSON object keyed by client kind, whose values are [OpenApp] or [OpenUrl] texts";
    Limit "limit" []
        "No page is longer than `limit`",
        "at most `limit` items";
    LimitDefault "limit-default" [Limit]
        "Without `limit` a page holds 10 items",
        "10 items";
    CursorAdvances "cursor-advances" [Cursor]
        "A page's cursor leads to the next page",
        "the next page, and another cursor or null";
    CursorEnds "cursor-ends" [Cursor, CursorAdvances]
        "The pages come to an end",
        "null after the last page";
    CursorUnique "cursor-unique" [ItemId, ItemIdUnique, ItemIdStable, Cursor, CursorAdvances]
        "No row is on two pages",
        "different rows on every page";
    CursorComplete "cursor-complete" [ItemId, ItemIdUnique, ItemIdStable, Limit, Cursor, CursorAdvances, CursorEnds, CursorUnique]
        "Small pages hold what one large page holds",
        "every row of the large page";
    CursorRepeatable "cursor-repeatable" [ItemId, ItemIdStable, Cursor, CursorAdvances]
        "A cursor can be used again",
        "the same rows as the first time";
    Order "order" [ItemId, ItemIdUnique, ItemIdStable, ItemDisplayTime, CursorAdvances, CursorUnique, CursorComplete]
        "The declared order is kept within pages and from page to page",
        "time order: `displayTime` never rises; relevance: small pages in the order of one large page";
    KeywordRequired "keyword-required" []
        "A search without `keyword` is refused",
        "HTTP 400, or an envelope with such a `code`";
    KeywordUnknown "keyword-unknown" []
        "A word that nothing matches is an empty success",
        "code 200 with an empty `data`";
    KeywordChinese "keyword-chinese" [KeywordUnknown, KeywordSpecials]
        "Chinese keywords are understood",
        "a success, with rows for the characters of a title that was seen";
    KeywordEmoji "keyword-emoji" [KeywordUnknown, KeywordSpecials]
        "Keywords with emoji are understood",
        "a success";
    KeywordSpecials "keyword-specials" [KeywordUnknown]
        "Keywords with & + % / \" \\ are understood",
        "a success, and the same rows for a keyword whose letters are escaped, such as %68";
    KeywordSpaces "keyword-spaces" [KeywordUnknown, KeywordSpecials]
        "Keywords with spaces are understood",
        "a success, with rows for two words of a title that was seen";
    KeywordLong "keyword-long" [KeywordUnknown]
        "Keywords of 256 characters are understood",
        "a success";
    AuthRequired "auth-required" []
        "A call without credentials is refused",
        "HTTP 401";
    AuthWrongToken "auth-wrong-token" [AuthRequired]
        "A call with wrong credentials is refused",
        "HTTP 401, on which trawl fetches a new token, if there is a token endpoint";
    AuthScope "auth-scope" [AuthRequired, AuthWrongToken]
        "A token without the scope is refused",
        "HTTP 403 or 401";
    Concurrency "concurrency" []
        "Ten calls at once are answered",
        "ten successes";
    IdentityRequired "identity-required" []
        "A call without an assertion is refused",
        "HTTP 401 or 403";
    IdentitySignature "identity-signature" [IdentityRequired]
        "An assertion with a wrong signature is refused",
        "HTTP 401 or 403";
    IdentityAudience "identity-audience" [IdentityRequired]
        "An assertion for another audience is refused",
        "HTTP 401 or 403";
    IdentityExpiry "identity-expiry" [IdentityRequired]
        "An assertion that has expired is refused",
        "HTTP 401 or 403";
    IdentityUnknown "identity-unknown" [IdentityRequired]
        "A person whom the source does not know sees no rows of others",
        "HTTP 401 or 403, or other rows than the person of the check sees";
}

/// Number of clauses of every source; the others are about assertions.
pub(super) const COMMON_CLAUSES: usize = ContractClause::IdentityRequired as usize;

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use super::*;

    #[test]
    fn clause_names_differ_and_no_clause_needs_itself() {
        assert_eq!(
            DEFINITIONS.iter().map(|definition| definition.id).collect::<HashSet<_>>().len(),
            DEFINITIONS.len()
        );
        assert!(DEFINITIONS.iter().all(|definition| !definition.needs.contains(&definition.clause)));
    }
}
