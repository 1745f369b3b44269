//! Beside client-go: what a sick server is asked, and how clients come back to one that was away.

use listwatch_tests::recovery::{Herd, Patient, client_go_herds, client_go_patients, lose_server, sick_hour};
use std::time::Duration;

/// A connection that is refused costs its server nothing, but one in four seconds is enough.
const REFUSED: u64 = 900;
/// How long the last of a thousand may take.
const BACK: Duration = Duration::from_secs(8);

#[test]
fn no_sick_server_answers_more_requests_of_ours_than_of_client_go() {
    let mut found = Vec::new();
    for patient in client_go_patients() {
        let Patient { name, was_well, accepted, refused, .. } = patient;
        let hours: Vec<_> = (0..5).map(|seed| sick_hour(&patient, seed)).collect();
        let (most, most_refused) = hours
            .iter()
            .fold((0, 0), |(accepted, refused), hour| (accepted.max(hour.accepted), refused.max(hour.refused)));
        let line = format!("{name}, well before: {was_well}: {most} ({accepted}), {most_refused} ({refused}) refused");
        println!("{line}");
        if most as f64 > accepted || most_refused > REFUSED {
            found.push(line);
        }
    }
    assert!(found.is_empty(), "{found:#?}");
}

#[test]
fn a_thousand_clients_that_lost_their_server_are_back_soon_and_crowd_it_no_more_than_client_go_at_its_worst() {
    let most = client_go_herds().map(|herd| herd.peak).fold(0.0, f64::max);
    let mut found = Vec::new();
    for client_go in client_go_herds() {
        let ours = lose_server(client_go.outage);
        let Herd { outage, peak, median, p90, worst } = client_go;
        let [half, most_of_all, last] = [50, 90, 100].map(|percent| ours.percentile(percent));
        let line = format!(
            "{outage:?} away: {} in the peak second ({peak}); back after {half:.1?} ({median} s), {most_of_all:.1?} ({p90} s), \
             {last:.1?} ({worst} s)",
            ours.peak
        );
        println!("{line}");
        if last > BACK || ours.peak as f64 > most {
            found.push(line);
        }
    }
    assert!(found.is_empty(), "{found:#?}");
}
