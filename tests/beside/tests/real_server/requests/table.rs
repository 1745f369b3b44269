//! The table of all requests: the same, or different for a reason.

use crate::real_server::requests::EPISODE;
use crate::real_server::requests::episode::{Stage, Told};
use crate::real_server::requests::reasons::REASONS;
use crate::real_server::requests::shrink::shrunk;
use listwatch_tests::requests::draw::draw;
use listwatch_tests::skipped::tell;
use serde_json::json;
use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;
use std::fs::File;
use std::io::Write as _;

#[derive(Default)]
pub(super) struct Table {
    requests: usize,
    differ: usize,
    /// Requests by the verb and the class of the server's answer.
    verbs: BTreeMap<(String, u16), usize>,
    /// Differences by the reason.
    reasons: BTreeMap<usize, usize>,
    /// Differences without a reason, or with two: how many, and the first one of each sort, with its seed.
    faults: BTreeMap<String, (usize, u64, Told)>,
}

/// How many faults are shrunk.
const SHRUNK: usize = 4;

/// What two differences of one sort have in common.
pub(super) fn signature(told: &Told) -> String {
    let Told { request, compared, .. } = told;
    let fields: BTreeSet<String> = compared.differences.iter().map(|it| it.field()).collect();
    let fields: Vec<&str> = fields.iter().map(String::as_str).take(4).collect();
    let (verb, collection) = (request.verb(), &request.specimen.collection);
    format!("{verb} {collection} {}→{}: {}", compared.server.code, compared.simulated.code, fields.join(", "))
}

impl Table {
    pub(super) fn add(&mut self, seed: u64, told: Vec<Told>) {
        for told in told {
            self.requests += 1;
            let class = told.compared.server.code / 100;
            *self.verbs.entry((told.request.verb().to_owned(), class)).or_default() += 1;
            if told.compared.differences.is_empty() {
                continue;
            }
            self.differ += 1;
            list(seed, &told);
            match *told.reasons {
                [reason] => *self.reasons.entry(reason).or_default() += 1,
                _ => self.faults.entry(signature(&told)).or_insert((0, seed, told)).0 += 1,
            }
        }
    }

    /// Prints the table. Fails where a difference has no reason and, in a long run, where a reason explains none.
    pub(super) fn check(self, stage: &Stage, is_long: bool) {
        self.print();
        let mut faults = String::new();
        for (place, (signature, (count, seed, told))) in self.faults.iter().enumerate() {
            writeln!(faults, "\n{count} × {signature}").unwrap();
            describe(&mut faults, stage, *seed, told, place < SHRUNK);
        }
        let idle = REASONS.iter().enumerate().filter(|(index, _)| is_long && !self.reasons.contains_key(index));
        for (index, reason) in idle {
            writeln!(faults, "reason {index} explains nothing: {}", reason.why).unwrap();
        }
        assert!(faults.is_empty(), "{} faults:\n{faults}", self.faults.len());
    }

    fn print(&self) {
        println!("verb        2xx    4xx    5xx");
        let verbs: BTreeSet<&String> = self.verbs.keys().map(|(verb, _)| verb).collect();
        for verb in verbs {
            let count = |class| self.verbs.get(&(verb.clone(), class)).copied().unwrap_or_default();
            println!("{verb:<9} {:>5} {:>6} {:>6}", count(2), count(4), count(5));
        }
        let reasons = self.reasons.iter().map(|(index, count)| format!("{count:>5} differ: {}\n", REASONS[*index].why));
        let (requests, alike) = (self.requests, self.requests - self.differ);
        let unexplained: usize = self.faults.values().map(|(count, ..)| count).sum();
        tell(format_args!(
            "{requests} random requests beside a server\n{alike:>5} are answered alike\n{}{unexplained:>5} differ without a reason",
            reasons.collect::<String>()
        ));
    }
}

/// Adds a difference to the file of all differences, if there is to be one.
fn list(seed: u64, told: &Told) {
    let Some(file) = std::env::var_os("RANDOM_DIFFERENCES") else { return };
    let Told { request, place, compared, reasons } = told;
    let why: Vec<&str> = reasons.iter().map(|reason| REASONS[*reason].why).collect();
    let places: Vec<String> = compared.differences.iter().map(ToString::to_string).collect();
    let line = json!({ "seed": seed, "request": place, "sent": request.to_string(), "why": why, "differences": places,
        "codes": [compared.server.code, compared.simulated.code] });
    let mut file = File::options().append(true).create(true).open(file).unwrap();
    writeln!(file, "{line}").unwrap();
}

fn describe(out: &mut String, stage: &Stage, seed: u64, told: &Told, is_shrunk: bool) {
    let Told { request, place, compared, reasons } = told;
    writeln!(out, "  RANDOM_SEED={seed}, request {place}, {} reasons: {request}", reasons.len()).unwrap();
    for difference in compared.differences.iter().take(8) {
        writeln!(out, "    {difference}").unwrap();
    }
    if is_shrunk && *place < EPISODE {
        let before = draw(seed, EPISODE).into_iter().take(place + 1).collect();
        for request in shrunk(stage, before, told) {
            writeln!(out, "    after {request}").unwrap();
        }
    }
    for (name, answered) in [("server", &compared.server), ("simulated", &compared.simulated)] {
        let body: String = answered.body.to_string().chars().take(1_500).collect();
        writeln!(out, "    {name}: {} {body}", answered.code).unwrap();
    }
}
