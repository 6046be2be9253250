use std::{cell::RefCell, collections::BTreeMap, fmt::Debug, future::pending, sync::OnceLock};

use tokio::runtime::Runtime;
use tracing::{
    Metadata,
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
use crate::search::request::{Filters, Order, Viewer};

/// The span below which all of it happens.
const SEARCH: &str = "search of a test";

type Fields = BTreeMap<&'static str, String>;

thread_local! {
    /// The spans of sources of this thread's searches: those that are open, by their ids, which are used again; and others.
    static SEEN: RefCell<(BTreeMap<u64, Fields>, Vec<Fields>)> = RefCell::default();
}

/// Watches the spans of sources. It is the one subscriber of all tests: with several, who meets a span first decides for all
/// whether it is of interest.
struct Watch;

impl Watch {
    fn start() {
        static STARTED: OnceLock<()> = OnceLock::new();
        STARTED.get_or_init(|| {
            let is_watched = |metadata: &Metadata<'_>| ["source", SEARCH].contains(&metadata.name());
            let watch = Watch.with_filter(filter_fn(is_watched));
            tracing::subscriber::set_global_default(Registry::default().with(watch)).unwrap();
            tracing::callsite::rebuild_interest_cache();
        });
        SEEN.take();
    }
}

struct Reader<'a>(&'a mut Fields);

impl Visit for Reader<'_> {
    fn record_str(&mut self, field: &Field, value: &str) {
        self.0.insert(field.name(), value.to_owned());
    }

    fn record_debug(&mut self, field: &Field, value: &dyn Debug) {
        self.0.insert(field.name(), format!("{value:?}"));
    }
}

impl<S: tracing::Subscriber + for<'span> LookupSpan<'span>> Layer<S> for Watch {
    fn on_new_span(&self, attributes: &Attributes<'_>, id: &Id, context: Context<'_, S>) {
        let parent = context.span(id).and_then(|span| span.parent().map(|parent| parent.name()));
        if parent == Some(SEARCH) {
            let mut fields = Fields::new();
            attributes.record(&mut Reader(&mut fields));
            SEEN.with_borrow_mut(|(open, _)| open.insert(id.into_u64(), fields));
        }
    }

    fn on_record(&self, id: &Id, values: &Record<'_>, _context: Context<'_, S>) {
        SEEN.with_borrow_mut(|(open, _)| {
            if let Some(fields) = open.get_mut(&id.into_u64()) {
                values.record(&mut Reader(fields));
            }
        });
    }

    fn on_close(&self, id: Id, _context: Context<'_, S>) {
        SEEN.with_borrow_mut(|(open, closed)| closed.extend(open.remove(&id.into_u64())));
    }
}

/// A source that does what its id says.
struct Named(&'static str);

#[async_trait::async_trait]
impl Source for Named {
    fn id(&self) -> &str {
        self.0
    }

    fn name(&self) -> &str {
        self.0
    }

    fn timeout(&self) -> Duration {
        Duration::MAX
    }

    async fn page(&self, _ask: &Arc<Ask>, _position: &Position) -> Result<Page, SourceFailure> {
        match self.0 {
            "fine" => Ok(Page::default()),
            "broken" => Ok(Page { broken: Some("a slip".to_owned()), ..Page::default() }),
            "refused" => Err(SourceFailure::new(FailureKind::Unauthorized, "a secret refusal")),
            "panics" => panic!("made to panic"),
            _ => pending().await,
        }
    }
}

fn ask(deadline: Instant) -> Arc<Ask> {
    Arc::new(Ask {
        viewer: Viewer { tenant_id: 1, user_id: None, principals: Arc::default() },
        keyword: "unmentionable".to_owned(),
        query: Arc::new(trawl_index::Query::parse("unmentionable")),
        filters: Filters::default(),
        order: Order::Time,
        limit: 10,
        whole_ties: None,
        before: None,
        deadline,
        trace: None,
    })
}

/// By source: how it ended, and the status that an exporter takes from its span.
type Ends = BTreeMap<String, (String, String)>;

/// What is seen of a search of these sources that is given up after so long, if not before.
fn watch(sources: &[&'static str], given_up: Duration) -> Ends {
    Watch::start();
    let call = |(place, id): (usize, &&'static str)| Call {
        place,
        source: Arc::new(Named(id)) as Arc<dyn Source>,
        position: Position::Beginning,
    };
    let mut calls: Vec<Call> = sources.iter().enumerate().map(call).collect();
    let searching = async {
        let deadline = Instant::now() + Duration::from_secs(2);
        let search = tracing::info_span!(SEARCH);
        let asking = async {
            if calls.len() == 1 {
                run(ask(deadline), calls.remove(0)).await;
                return;
            }
            let mut gather = Gather::new(ask(deadline));
            for call in calls {
                gather.begin(call);
            }
            while !gather.is_idle() && gather.next(deadline + Duration::from_secs(1)).await.is_some() {}
        };
        drop(tokio::time::timeout(given_up, asking.instrument(search)).await);
    };
    // A runtime whose clock moves only when everything waits, and whose tasks are all on this thread.
    let runtime: Runtime =
        tokio::runtime::Builder::new_current_thread().enable_time().start_paused(true).build().unwrap();
    runtime.block_on(searching);
    drop(runtime);
    let (open, closed) = SEEN.take();
    assert!(open.is_empty(), "{open:?}");
    let shown = format!("{closed:?}");
    assert!(!shown.contains("unmentionable") && !shown.contains("secret"), "{shown}");
    let text = |fields: &Fields, name: &str| fields.get(name).cloned().unwrap_or_default();
    let end = |fields: &Fields| {
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
fn each_source_has_a_span_that_says_how_it_ended() {
    let all = [
        ("fine", "ok", ""),
        ("broken", "invalid", "ERROR"),
        ("refused", "unauthorized", "ERROR"),
        ("panics", "error", "ERROR"),
        ("hangs", "timeout", "ERROR"),
    ];
    let sources = all.map(|(id, ..)| id);
    assert_eq!(watch(&sources, Duration::MAX), ends(&all));
    // One alone has a timer of its own.
    for end in all {
        assert_eq!(watch(&[end.0], Duration::MAX), ends(&[end]));
    }
}

#[test]
fn one_whose_caller_went_away_is_cancelled() {
    let fine_and_gone = ends(&[("fine", "ok", ""), ("hangs", "cancelled", "")]);
    assert_eq!(watch(&["fine", "hangs"], Duration::from_secs(1)), fine_and_gone);
    assert_eq!(watch(&["hangs"], Duration::from_secs(1)), ends(&[("hangs", "cancelled", "")]));
}
