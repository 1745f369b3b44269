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
                let load =
                    Load { pods, changes: if *expires { pods / 10 } else { 0 }, expires: *expires, ..Load::default() };
                let took = followed(settings, mode, load, *pages);
                eprintln!("{title}, {case}: {took:?}");
                peaks.push(took);
            }
        }
    }
    let columns = [format!("peak to steady (MB), allocated; resident; {pods} pods")].into_iter();
    let rows = MODES
        .iter()
        .zip(&peaks)
        .map(|((_, title), peaks)| row([(*title).to_owned()].into_iter().chain(peaks.iter().map(|peaks| cell(peaks)))));
    head(columns.chain(CASES.iter().map(|(_, _, case)| (*case).to_owned()))) + &rows.collect::<String>()
}

/// Followed twice: by this program, and by one that counts what it allocates, which takes time and memory.
fn followed(settings: &Settings, mode: &str, load: Load, pages: bool) -> Took {
    let cargo = ["cargo", "bench", "--quiet", "--package", "listwatch-benches", "--bench", "counted", "--"];
    let [took, counted] = [[settings.ours.as_str()].as_slice(), &cargo].map(|program| {
        let (server, versions) = (Server::start(&settings.peers, load, false), load.versions());
        let mut arguments = [&program[1..], &["follow", mode, &server.url]].concat();
        arguments.extend(versions.iter().map(String::as_str));
        arguments.extend(pages.then_some("pages"));
        took(load, program[0], &arguments)
    });
    Took { heap: counted.heap, ..took }
}

/// Of allocated bytes, and of resident ones.
fn cell(peaks: &[Took]) -> String {
    let heap = |took: &Took| took.heap.expect("the program counts");
    let allocated = ratio(peaks, |it| [heap(it).peak, heap(it).steady]);
    let resident = ratio(peaks, |it| [it.peak, it.steady.unwrap_or(it.rss)]);
    format!("{allocated}; {resident}")
}

fn ratio(peaks: &[Took], of: impl Fn(&Took) -> [u64; 2]) -> String {
    let of = |took: &Took| of(took).map(|bytes| bytes as f64);
    let [peak, stays] = [0, 1].map(|which| median(peaks.iter().map(|it| of(it)[which])) / 1e6);
    let ratio = median(peaks.iter().map(|it| of(it)[0] / of(it)[1]));
    format!("{ratio:.2} ({peak:.1} to {stays:.1})")
}
