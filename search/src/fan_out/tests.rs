use std::{cell::RefCell, collections::BTreeMap, fmt::Debug, future::pending, sync::OnceLock};

use tracing::{
    Event, Level, Metadata,
    field::{Field, Visit},
    span::{Attributes, Id, Record},
};
use tracing_subscriber::{
    Layer, Registry,
    filter::filter_fn,
    layer::{Context, SubscriberExt},
    registry::LookupSpan,
};

use super::*;
use crate::{
    panics::note_places,
    request::SearchParameters,
    source::FailureKind,
    testing::{parameters, paused_runtime, source_request},
};

const SEARCH: &str = "search of a test";

type RecordedFields = BTreeMap<&'static str, String>;

thread_local! {
    static SEEN: RefCell<(BTreeMap<u64, RecordedFields>, Vec<RecordedFields>)> = RefCell::default();
    static ERRORS: RefCell<Vec<RecordedFields>> = RefCell::default();
}

/// One subscriber for all tests: with several, the first decides for all.
struct SpanRecorder;

impl SpanRecorder {
    fn start() {
        static STARTED: OnceLock<()> = OnceLock::new();
        STARTED.get_or_init(|| {
            let is_recorded = |metadata: &Metadata<'_>| {
                metadata.is_event() || ["source", SEARCH].contains(&metadata.name())
            };
            let recorder = SpanRecorder.with_filter(filter_fn(is_recorded));
            tracing::subscriber::set_global_default(Registry::default().with(recorder)).unwrap();
            tracing::callsite::rebuild_interest_cache();
        });
        SEEN.take();
        ERRORS.take();
    }
}

struct FieldReader<'a>(&'a mut RecordedFields);

impl Visit for FieldReader<'_> {
    fn record_str(&mut self, field: &Field, value: &str) {
        self.0.insert(field.name(), value.to_owned());
    }

    fn record_debug(&mut self, field: &Field, value: &dyn Debug) {
        self.0.insert(field.name(), format!("{value:?}"));
    }
}

impl<S: tracing::Subscriber + for<'span> LookupSpan<'span>> Layer<S> for SpanRecorder {
    fn on_new_span(&self, attributes: &Attributes<'_>, id: &Id, context: Context<'_, S>) {
        let parent = context.span(id).and_then(|span| span.parent().map(|parent| parent.name()));
        if parent == Some(SEARCH) {
            let mut fields = RecordedFields::new();
            attributes.record(&mut FieldReader(&mut fields));
            SEEN.with_borrow_mut(|(open, _)| open.insert(id.into_u64(), fields));
        }
    }

    fn on_record(&self, id: &Id, values: &Record<'_>, _context: Context<'_, S>) {
        SEEN.with_borrow_mut(|(open, _)| {
            if let Some(fields) = open.get_mut(&id.into_u64()) {
                values.record(&mut FieldReader(fields));
            }
        });
    }

    fn on_event(&self, event: &Event<'_>, _context: Context<'_, S>) {
        if *event.metadata().level() == Level::ERROR {
            let mut fields = RecordedFields::new();
            event.record(&mut FieldReader(&mut fields));
            ERRORS.with_borrow_mut(|errors| errors.push(fields));
        }
    }

    fn on_close(&self, id: Id, _context: Context<'_, S>) {
        SEEN.with_borrow_mut(|(open, closed)| closed.extend(open.remove(&id.into_u64())));
    }
}

struct NamedSource(&'static str);

#[async_trait::async_trait]
impl PagedSource for NamedSource {
    fn id(&self) -> &str {
        self.0
    }

    fn name(&self) -> &str {
        self.0
    }

    async fn page(
        &self,
        _request: &SourceRequest,
        _position: &Position,
    ) -> Result<SourcePage, SourceFailure> {
        match self.0 {
            "fine" => Ok(SourcePage::default()),
            "broken" => Ok(SourcePage { broken: Some("a violation".to_owned()), ..SourcePage::default() }),
            "refused" => Err(SourceFailure::new(FailureKind::Unauthorized, "a secret refusal")),
            "panics" => panic!("made to panic"),
            _ => pending().await,
        }
    }
}

type Ends = BTreeMap<String, (String, String)>;

fn spans_of(sources: &[&'static str], given_up: Duration) -> Ends {
    SpanRecorder::start();
    let call = |(place, id): (usize, &&'static str)| {
        let source = ModuleSource::External(Arc::new(NamedSource(id)));
        SourceCall { places: vec![place], sources: CalledSources::Single(source, Position::Beginning) }
    };
    let mut calls: Vec<SourceCall> = sources.iter().enumerate().map(call).collect();
    let searching = async {
        let keyword = "unmentionable".to_owned();
        let request = Arc::new(source_request(SearchParameters { keyword, ..parameters() }));
        let deadline = request.search.deadline;
        let search = tracing::info_span!(SEARCH);
        let asking = async {
            if calls.len() == 1 {
                call_source(request, calls.remove(0), Some(deadline)).await;
                return;
            }
            let mut fan_out = FanOut::new(request);
            for call in calls {
                fan_out.begin(call);
            }
            while !fan_out.is_idle() && fan_out.next(deadline + Duration::from_secs(1)).await.is_some() {}
        };
        drop(tokio::time::timeout(given_up, asking.instrument(search)).await);
    };
    let runtime = paused_runtime();
    runtime.block_on(searching);
    drop(runtime);
    let (open, closed) = SEEN.take();
    assert!(open.is_empty(), "{open:?}");
    let text = format!("{closed:?}");
    assert!(!text.contains("unmentionable") && !text.contains("secret"), "{text}");
    let text = |fields: &RecordedFields, name: &str| fields.get(name).cloned().unwrap_or_default();
    let end = |fields: &RecordedFields| {
        assert_eq!(fields.contains_key("status"), fields.contains_key("took_ms"));
        (text(fields, "source"), (text(fields, "status"), text(fields, "otel.status_code")))
    };
    closed.iter().map(end).collect()
}

fn ends(ends: &[(&str, &str, &str)]) -> Ends {
    let end = |(id, status, code): &(&str, &str, &str)| {
        ((*id).to_owned(), ((*status).to_owned(), (*code).to_owned()))
    };
    ends.iter().map(end).collect()
}

#[test]
fn each_source_has_a_span_with_its_status() {
    let all = [
        ("fine", "ok", ""),
        ("broken", "invalid", "ERROR"),
        ("refused", "unauthorized", "ERROR"),
        ("panics", "error", "ERROR"),
        ("hangs", "timeout", "ERROR"),
    ];
    let sources = all.map(|(id, ..)| id);
    assert_eq!(spans_of(&sources, Duration::MAX), ends(&all));
    for end in all {
        assert_eq!(spans_of(&[end.0], Duration::MAX), ends(&[end]));
    }
}

#[test]
fn panic_of_a_source_is_logged_once_with_its_message_and_place() {
    note_places();
    spans_of(&["fine", "panics"], Duration::MAX);
    let errors = ERRORS.take();
    let [error] = errors.as_slice() else { panic!("{errors:?}") };
    assert_eq!(error["source"], "panics");
    let place = error["panic"].strip_prefix("made to panic at ").unwrap();
    assert!(place.starts_with(file!()), "{place}");
}

#[test]
fn request_dropped_before_the_deadline_is_cancelled() {
    let fine_and_cancelled = ends(&[("fine", "ok", ""), ("hangs", "cancelled", "")]);
    assert_eq!(spans_of(&["fine", "hangs"], Duration::from_secs(1)), fine_and_cancelled);
    assert_eq!(spans_of(&["hangs"], Duration::from_secs(1)), ends(&[("hangs", "cancelled", "")]));
}
