//! The fewest requests that lead to a difference.

use crate::real_server::requests::episode::{Stage, Told};
use crate::real_server::requests::table::signature;
use listwatch_tests::requests::Request;

/// The most replays.
const REPLAYS: usize = 60;

/// Leaves out the requests before the last one without which it is still answered in these two ways.
pub(super) fn shrunk(stage: &Stage, mut requests: Vec<Request>, told: &Told) -> Vec<Request> {
    let wanted = signature(told);
    let mut replays = 0;
    let mut leads_there = |requests: &[Request]| {
        replays += 1;
        replays <= REPLAYS && stage.replay(requests).is_some_and(|told| signature(&told) == wanted)
    };
    let related = |it: &Request| it.specimen.collection == told.request.specimen.collection;
    let own: Vec<Request> = requests.iter().filter(|it| related(it)).cloned().collect();
    if leads_there(&own) {
        requests = own;
    }
    let mut piece = requests.len() / 2;
    while piece > 0 {
        let mut start = 0;
        while start + 1 < requests.len() {
            let end = (start + piece).min(requests.len() - 1);
            let fewer: Vec<Request> = requests[..start].iter().chain(&requests[end..]).cloned().collect();
            if leads_there(&fewer) {
                requests = fewer;
            } else {
                start = end;
            }
        }
        piece /= 2;
    }
    requests
}
