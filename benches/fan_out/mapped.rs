//! Sources whose answers filters turn into rows, beside the same sources as they are.

use crate::{
    common::{
        interleave::{self, Slices, interleave},
        report::Report,
        server::Server,
    },
    peers::{self, SOURCE_ITEMS, SOURCE_TOTAL},
    site::{LONG_TIMEOUT, Site, Source},
};

const COUNTS: [usize; 3] = [1, 4, 20];
const CLIENTS: [usize; 2] = [1, 16];
/// Milliseconds; never reached.
const DEADLINE: u64 = 2_000;

pub(crate) fn run(slices: Slices, report: &mut Report) {
    writeln!(report, "\n## Mapped sources of 0 ms\n");
    writeln!(
        report,
        "Mapped / of the contract, pages of {SOURCE_ITEMS} rows. Two jobs of an interpreter process for each call: the \
         request and the rows. Milliseconds.\n"
    );
    writeln!(
        report,
        "| sources | clients | median | × | p99, × | per second | × |\n|---|---|---|---|---|---|---|"
    );
    let sources = Server::peer(&[peers::SOURCES]);
    let site = Site::start(&[]);
    for count in COUNTS {
        let targets = ["mapped", "contract"].map(|kind| {
            let module = format!("{kind}-{count}");
            let names: Vec<_> = (0..count)
                .map(|number| (format!("{module}-{number}"), format!("/page/{number}/0")))
                .collect();
            site.register(
                &module,
                names.iter().map(|(id, path)| Source {
                    id,
                    address: sources.address,
                    path,
                    timeout: LONG_TIMEOUT,
                    hedging: false,
                    mapped: kind == "mapped",
                }),
            );
            site.search(&module, DEADLINE, format!("\"total\":{}", count * SOURCE_TOTAL))
        });
        for clients in CLIENTS {
            let [mapped, contract] = interleave(&targets, clients, slices);
            writeln!(report, "| {count} | {clients} | {} |", interleave::compared(&mapped, &contract));
        }
    }
}
