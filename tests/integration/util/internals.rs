//! Internals of the server; tests outside `util` otherwise use HTTP and the command line.

pub(crate) use trawl::{
    app::App,
    auth::{
        applications::{Kind, find_callback_key},
        caller::{Caller, SessionRole},
        second_factor::TotpSecret,
        sessions::SessionId,
        tokens::{Claims, Subject, Tokens, epoch_seconds},
    },
    blobs::{
        BlobStore, ComposedContent, Download, Expected, Pieces, UploadPart,
        contents::{Contents, discard_leftovers},
        extraction::{
            TextFormat,
            process::{ExtractedText, ExtractionOutcome, TextReader},
        },
        s3::S3 as S3Store,
        scanning::{Scanner, Verdict, clamd},
        signing::SignedPart,
    },
    config::{self, Config, IssuerSettings, Limits, S3Settings, Storage, StorageKind},
    confined::process::{ReaderAsker, ReaderPlaces, ReadingTask},
    error::{BusinessCode, Error, ErrorKind, Result},
    identity::scopes::{Scopes, TokenScope},
    platform::{folders::removal::remove_portion, users::service::fold_logins},
    replicas::{Replicas, SharedSettings},
    server::{
        middleware::wrap,
        routes::rules,
        rule::{RequiredIdentity, Rule},
    },
    store::{
        Json, Store, now_millis,
        schema::{Table, tables},
    },
    telemetry,
};
