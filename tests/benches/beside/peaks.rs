//! The peak of our memory beside what stays: of a list in pages, of one as a stream, and of a relist after a 410, of
//! whose objects a tenth has changed.

use crate::figures::{head, median, row};
use crate::process::{Load, Server, Took, took};
use crate::settings::Settings;

const MODES: [(&str, &str); 3] = [("meta", "metadata"), ("raw", "`Raw`"), ("pod", "`Pod` of k8s-openapi")];

/// Whether the watch expires, whether lists are in pages, and what is measured then.
const CASES: [(bool, bool, &str); 4] = [
    (false, true, "a list in pages"),
    (false, false, "as a stream"),
    (true, true, "a relist in pages"),
    (true, false, "as a stream"),
];

pub(crate) fn table(settings: &Settings) -> String {
    let pods = settings.size(100_000, 1_000);
    let mut peaks = MODES.map(|_| CASES.map(|_| Vec::new()));
    for _ in 0..settings.turns {
        for ((mode, title), peaks) in MODES.iter().zip(&mut peaks) {
            for ((expires, pages, case), peaks) in CASES.iter().zip(peaks) {
                let load = Load { pods, changes: if *expires { pods / 10 } else { 0 }, expires: *expires };
                let took = followed(settings, mode, load, *pages);
                eprintln!("{title}, {case}: {took:?}");
                peaks.push(took);
            }
        }
    }
    let columns = [format!("peak to steady memory (MB); {pods} pods")].into_iter();
    let rows = MODES
        .iter()
        .zip(&peaks)
        .map(|((_, title), peaks)| row([(*title).to_owned()].into_iter().chain(peaks.iter().map(|peaks| cell(peaks)))));
    head(columns.chain(CASES.iter().map(|(_, _, case)| (*case).to_owned()))) + &rows.collect::<String>()
}

fn followed(settings: &Settings, mode: &str, load: Load, pages: bool) -> Took {
    let (server, versions) = (Server::start(&settings.peers, load, false), load.versions());
    let mut arguments = vec!["follow", mode, &server.url];
    arguments.extend(versions.iter().map(String::as_str));
    arguments.extend(pages.then_some("pages"));
    took(load, &settings.ours, &arguments)
}

fn cell(peaks: &[Took]) -> String {
    let steady = |took: &Took| took.steady.unwrap_or(took.rss) as f64;
    let (peak, stays) = (median(peaks.iter().map(|it| it.peak as f64)), median(peaks.iter().map(steady)));
    let ratio = median(peaks.iter().map(|it| it.peak as f64 / steady(it)));
    format!("{ratio:.2} ({:.0} to {:.0})", peak / 1e6, stays / 1e6)
}
