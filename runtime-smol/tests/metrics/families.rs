//! The families of a scrape, and those of a program of controller-runtime.

use crate::metrics::stage::scraped;
use listwatch::metrics::Metrics;
use prometheus_client::encoding::text::{encode, encode_registry};
use prometheus_client::metrics::gauge::Gauge;
use prometheus_client::registry::Registry;
use std::collections::{BTreeMap, BTreeSet};

/// What `go run -C tests/peers/controller-runtime .` prints.
const THEIRS: &str = include_str!("../../../tests/peers/controller-runtime/families.txt");

/// The families that we do not have.
const MISSING: [(&str, &str); 4] = [
    ("certwatcher_read_certificate", "no server of a webhook, so no certificate is read"),
    ("certwatcher_read_certificate_errors", "as above"),
    ("controller_runtime_conversion_webhook_panics", "there are no webhooks"),
    ("controller_runtime_webhook_panics", "there are no webhooks"),
];

#[derive(Debug, Default, PartialEq, Eq)]
struct Family {
    kind: String,
    labels: BTreeSet<String>,
    bounds: Vec<String>,
}

fn theirs() -> BTreeMap<String, Family> {
    let mut families = BTreeMap::new();
    for text in THEIRS.trim().split("\n\n") {
        let mut name = None;
        let mut family = Family::default();
        for (what, rest) in text.lines().filter_map(|line| line.split_once(' ')) {
            let words = rest.split(' ').map(str::to_owned);
            match what {
                "family" => name = Some(rest.to_owned()),
                "type" => family.kind = rest.to_owned(),
                "labels" => family.labels = words.collect(),
                "bounds" => family.bounds = words.collect(),
                _ => {}
            }
        }
        families.insert(name.unwrap(), family);
    }
    families
}

fn ours(scrape: &str) -> BTreeMap<String, Family> {
    let mut families = BTreeMap::<String, Family>::new();
    let mut last = String::new();
    for line in scrape.lines() {
        if let Some((name, kind)) = line.strip_prefix("# TYPE ").and_then(|rest| rest.split_once(' ')) {
            last = name.to_owned();
            families.entry(last.clone()).or_default().kind = kind.to_owned();
        } else if let Some((_, labels)) = line.rsplit_once(' ').and_then(|(series, _)| series.split_once('{')) {
            let family = families.get_mut(&last).unwrap();
            for (name, value) in labels.trim_end_matches('}').split("\",").filter_map(|label| label.split_once("=\"")) {
                let value = value.trim_end_matches('"').to_owned();
                if name != "le" {
                    family.labels.insert(name.to_owned());
                } else if !family.bounds.contains(&value) {
                    family.bounds.push(value);
                }
            }
        }
    }
    families
}

#[test]
fn each_family_of_controller_runtime_is_ours_too_or_has_a_reason() {
    let (theirs, ours) = (theirs(), ours(&scraped()));
    assert!(theirs.len() > 15);
    for (name, family) in &theirs {
        let reason = MISSING.iter().find(|(missing, _)| missing == name);
        match (ours.get(name), reason) {
            (Some(our), None) => assert_eq!(our, family, "{name}"),
            (None, Some(_)) => {}
            (our, reason) => panic!("{name}: {our:?} of ours, missing for {reason:?}"),
        }
    }
    for (missing, _) in MISSING {
        assert!(theirs.contains_key(missing), "{missing} is theirs no more");
    }
}

/// A registry with a gauge of this name.
fn registry(name: &str) -> Registry {
    let mut registry = Registry::default();
    registry.register(name, "Of a program", Gauge::<i64>::default());
    registry
}

#[test]
fn families_of_the_program_come_before_the_end_of_a_scrape() {
    let metrics = Metrics::new();
    let [one, other] = ["printer_pages", "printer_ink"].map(registry);
    metrics.add_families(move |text| encode_registry(text, &one));
    metrics.add_families(move |text| encode(text, &other));
    metrics.add_families(|text| {
        text.push_str("# TYPE printer_paper gauge\nprinter_paper 7");
        Ok(())
    });
    let scrape = metrics.encode();
    for line in ["printer_pages 0", "printer_ink 0", "printer_paper 7", "# EOF"] {
        assert_eq!(scrape.lines().filter(|known| *known == line).count(), 1, "{line} in {scrape}");
    }
    assert!(scrape.ends_with("\n# EOF\n"));
}

#[test]
fn families_whose_code_fails_or_panics_are_not_in_a_scrape_and_all_others_are() {
    let metrics = Metrics::new();
    metrics.add_families(|text| {
        text.push_str("half_of_a_line{");
        Err(std::fmt::Error)
    });
    metrics.add_families(|text| {
        text.push_str("half_of_a_line{");
        panic!("no ink")
    });
    let whole = registry("printer_pages");
    metrics.add_families(move |text| encode_registry(text, &whole));
    let scrape = metrics.encode();
    assert!(scrape.contains("\nprinter_pages 0\n") && !scrape.contains("half_of_a_line"), "{scrape}");
}
