//! From a server's bytes to a reconciled cache: 20,000 pods of 10 KB are listed, and 40,000 changes of them watched.

use crate::figures::{head, median, row};
use crate::process::{Load, Server, Took, took};
use crate::settings::Settings;

#[derive(Clone, Copy, PartialEq)]
enum Side {
    Ours,
    KubeRs,
    ClientGo,
}

/// A way to follow, by the argument that its side knows it by.
struct Way {
    side: Side,
    mode: &'static str,
    title: &'static str,
    is_tls: bool,
}

const fn way(side: Side, mode: &'static str, title: &'static str) -> Way {
    Way { side, mode, title, is_tls: false }
}

/// All of them. A further type of objects of ours is one line here, and one in `follow`.
const WAYS: [Way; 13] = [
    way(Side::Ours, "meta", "listwatch, metadata"),
    way(Side::Ours, "fields", "listwatch, three fields"),
    way(Side::Ours, "controller", "listwatch, three fields, `Controller`"),
    way(Side::Ours, "raw", "listwatch, `Raw`"),
    way(Side::Ours, "packed", "listwatch, `Packed<Lz4>`"),
    way(Side::Ours, "pod", "listwatch, `Pod` of k8s-openapi"),
    way(Side::KubeRs, "meta", "kube-rs, `PartialObjectMeta`"),
    way(Side::KubeRs, "pod", "kube-rs, `Pod`"),
    way(Side::KubeRs, "controller", "kube-rs, `Pod`, `Controller`"),
    way(Side::ClientGo, "application/vnd.kubernetes.protobuf", "client-go, protobuf"),
    way(Side::ClientGo, "application/json", "client-go, JSON"),
    Way { is_tls: true, ..way(Side::Ours, "fields", "listwatch, three fields, TLS") },
    Way { is_tls: true, ..way(Side::KubeRs, "pod", "kube-rs, `Pod`, TLS by rustls") },
];

impl Way {
    fn took(&self, settings: &Settings, load: Load) -> Took {
        let (server, last) = (Server::start(&settings.peers, load, self.is_tls), &load.versions()[0]);
        match self.side {
            Side::Ours => took(load, &settings.ours, &["follow", self.mode, &server.url, last]),
            Side::KubeRs => took(load, settings.kube_rs.as_ref().unwrap(), &[self.mode, &server.url, last]),
            Side::ClientGo => took(load, &settings.peers, &["informer", self.mode, &server.url, last]),
        }
    }
}

/// A way, and the medians of what it took.
struct Measured {
    way: &'static Way,
    cpu: f64,
    wall: f64,
    /// Resident bytes of an object.
    object: f64,
    live: Option<f64>,
    peak: f64,
}

impl Measured {
    fn new(way: &'static Way, all: &[Took], pods: f64) -> Self {
        let of = |figure: fn(&Took) -> f64| median(all.iter().map(figure));
        Self {
            way,
            cpu: of(|took| took.cpu),
            wall: of(|took| took.wall),
            object: of(|took| took.rss.saturating_sub(took.before) as f64) / pods,
            live: all[0].live.is_some().then(|| of(|took| took.live.unwrap_or_default() as f64) / pods),
            peak: of(|took| took.peak as f64),
        }
    }
}

pub(crate) fn tables(settings: &Settings) -> String {
    let load = Load { pods: settings.size(20_000, 500), changes: settings.size(40_000, 1_000), ..Load::default() };
    let ways: Vec<&Way> = WAYS.iter().filter(|way| way.side != Side::KubeRs || settings.kube_rs.is_some()).collect();
    let mut all = vec![Vec::new(); ways.len()];
    for _ in 0..settings.turns {
        for (way, all) in ways.iter().zip(&mut all) {
            let took = way.took(settings, load);
            eprintln!("{}: {took:?}", way.title);
            all.push(took);
        }
    }
    let measured: Vec<Measured> =
        ways.into_iter().zip(all).map(|(way, all)| Measured::new(way, &all, load.pods as f64)).collect();
    figures(&measured, load)
}

fn figures(measured: &[Measured], load: Load) -> String {
    let title = format!("{} pods listed, {} changed", load.pods, load.changes);
    let columns = [&title, "CPU s", "wall s", "resident bytes an object", "of these on Go's heap", "peak MB"];
    let rows = measured.iter().map(|it| {
        let live = it.live.map_or_else(String::new, |live| format!("{live:.0}"));
        let (cpu, wall) = (format!("{:.2}", it.cpu), format!("{:.2}", it.wall));
        row([it.way.title.to_owned(), cpu, wall, format!("{:.0}", it.object), live, format!("{:.0}", it.peak / 1e6)])
    });
    head(columns) + &rows.collect::<String>()
}
