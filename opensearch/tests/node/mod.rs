//! The node of OpenSearch that tests and benches use.

use std::env;
use std::time::Duration;

use url::Url;

const START_SECONDS: u32 = 180;

/// The node that `TRAWL_TEST_OPENSEARCH` names, if any; it may have been started a moment ago.
pub(crate) async fn node() -> Option<Url> {
    let node = env::var("TRAWL_TEST_OPENSEARCH").ok()?;
    let health = format!("{node}/_cluster/health?wait_for_status=yellow&timeout=60s");
    let mut seconds = 0;
    while !reqwest::get(&health).await.is_ok_and(|answer| answer.status().is_success()) {
        assert!(seconds < START_SECONDS, "{node} did not start within {START_SECONDS} s");
        tokio::time::sleep(Duration::from_secs(1)).await;
        seconds += 1;
    }
    Some(node.parse().unwrap())
}
