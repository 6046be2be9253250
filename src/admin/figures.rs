//! `/admin/v1/figures`: searches, failures and latencies of modules and sources over time.

use std::collections::BTreeMap;

use axum::extract::State;
use serde::{Deserialize, Serialize};
use trawl_macros::operation;
use trawl_search::figures::{Errors, FigureSubject, SearchCounts};

use crate::{
    admin::AdminState,
    auth::extract::Identified,
    error::{Error, Result},
    figures::{self, DAY, DAYS, DAYS_OF_HOURS, Step},
    http::{envelope::Envelope, extract::QueryParameters},
};

/// The time of the figures.
#[derive(Debug, Default, Deserialize, utoipa::IntoParams)]
#[into_params(parameter_in = Query)]
pub struct FiguresQuery {
    /// Earliest time, inclusive, epoch milliseconds; default: a day before `to`, or 8 weeks by days.
    from: Option<i64>,
    /// Latest time, exclusive, epoch milliseconds; default: now.
    to: Option<i64>,
    /// `hour`, of the last 7 days, or `day`, of the last 8 weeks; default: `hour`.
    step: Option<Step>,
}

/// Figures of a tenant's searches.
#[derive(Debug, Serialize, utoipa::ToSchema)]
pub struct FiguresShown {
    /// The length of time of each point.
    step: Step,
    /// The start of the first point, epoch milliseconds.
    from: i64,
    /// The end, exclusive, epoch milliseconds.
    to: i64,
    /// The modules that were searched.
    modules: Vec<Series>,
    /// The sources that were asked, once for each module of a search.
    sources: Vec<Series>,
}

/// The figures of a module or source.
#[derive(Debug, Serialize, utoipa::ToSchema)]
pub struct Series {
    /// The id of the module or source, which may be removed by now.
    id: String,
    /// Hours or days with searches, oldest first.
    points: Vec<Point>,
}

/// The searches of an hour or day.
#[derive(Debug, Serialize, utoipa::ToSchema)]
pub struct Point {
    /// Its start, epoch milliseconds.
    at: i64,
    /// Searches, later pages included.
    searches: u64,
    /// Searches that failed, by status.
    errors: Errors,
    /// The median of answers and timeouts in milliseconds, at most an eighth too high.
    p50: Option<u64>,
    /// The 90th percentile.
    p90: Option<u64>,
    /// The 99th percentile.
    p99: Option<u64>,
}

impl Series {
    fn new(id: String, points: BTreeMap<i64, SearchCounts>) -> Self {
        let points = points.into_iter().map(|(at, counts)| Point {
            at,
            searches: counts.searches(),
            errors: counts.errors(),
            p50: counts.percentile(50),
            p90: counts.percentile(90),
            p99: counts.percentile(99),
        });
        Self { id, points: points.collect() }
    }
}

/// Shows searches, failures and latencies of the tenant's modules and sources by hour or day.
///
/// Figures are stored twice a minute.
#[operation(admin, 200 = "The figures")]
pub async fn show_figures(
    State(state): State<AdminState>,
    Identified(caller): Identified,
    QueryParameters(query): QueryParameters<FiguresQuery>,
) -> Result<Envelope<FiguresShown>> {
    let step = query.step.unwrap_or_default();
    let now = state.clock.now();
    let to = query.to.unwrap_or(now);
    let (days, usual) = match step {
        Step::Hour => (DAYS_OF_HOURS, DAY),
        Step::Day => (DAYS, DAYS * DAY),
    };
    let from = query.from.unwrap_or(to.saturating_sub(usual));
    if from >= to {
        return Err(Error::bad_request("to: must be after from"));
    }
    let from = step.start_of(from);
    // A day more, for days of other time zones.
    if to.saturating_sub(from) > (days + 1) * DAY {
        return Err(Error::bad_request(format!(
            "from: must be at most {days} days before `to` with this step"
        )));
    }
    let found = figures::list(state.store.reader(), caller.tenant.id, step, from..to).await?;
    let (mut modules, mut sources) = (Vec::new(), Vec::new());
    for ((kind, id), points) in found {
        match kind {
            FigureSubject::Module => modules.push(Series::new(id, points)),
            FigureSubject::Source => sources.push(Series::new(id, points)),
        }
    }
    Ok(Envelope::of(FiguresShown { step, from, to, modules, sources }))
}
