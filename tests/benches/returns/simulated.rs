//! Sick servers and herds, under virtual time.

use listwatch_tests::recovery::{Hour, Patient, client_go_herds, client_go_patients, lose_server, sick_hour};

/// How many clients a figure is the mean of.
const CLIENTS: u64 = 20;

/// Prints what an hour of each sickness costs the server, from its start.
pub(crate) fn sick_servers() {
    println!("| requests in an hour that a server answers so | listwatch | client-go |");
    println!("|---|--:|--:|");
    for patient in client_go_patients().filter(|patient| !patient.was_well) {
        let (accepted, refused) = mean(&patient);
        let (ours, theirs) =
            if patient.name == "refused" { (refused, patient.refused) } else { (accepted, patient.accepted) };
        println!("| {} | {ours:.0} | {theirs:.0} |", patient.name);
    }
    println!();
}

fn mean(patient: &Patient) -> (f64, f64) {
    let hours: Vec<Hour> = (0..CLIENTS).map(|seed| sick_hour(patient, seed)).collect();
    let mean = |count: fn(&Hour) -> u64| hours.iter().map(count).sum::<u64>() as f64 / CLIENTS as f64;
    (mean(|hour| hour.accepted), mean(|hour| hour.refused))
}

/// Prints how a thousand clients come back.
pub(crate) fn herds() {
    println!(
        "| 1,000 clients, server away for | listwatch: answers in the peak second | back p50 | p90 | worst | client-go: peak | p50 | p90 | worst |"
    );
    println!("|---|--:|--:|--:|--:|--:|--:|--:|--:|");
    for client_go in client_go_herds() {
        let ours = lose_server(client_go.outage);
        let [median, p90, worst] = [50, 90, 100].map(|percent| ours.percentile(percent).as_secs_f64());
        println!(
            "| {} s | {} | {median:.1} s | {p90:.1} s | {worst:.1} s | {:.0} | {:.1} s | {:.1} s | {:.1} s |",
            client_go.outage.as_secs(),
            ours.peak,
            client_go.peak,
            client_go.median,
            client_go.p90,
            client_go.worst
        );
    }
}
