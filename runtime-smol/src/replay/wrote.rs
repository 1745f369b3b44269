//! What one reconcile wrote, and how that differs from what it wrote elsewhere.

use super::divergence::{Beginning, Difference, DivergenceKind, Found};
use super::requests::{self, Compared, Sought, is_write};
use listwatch_transport_file::{SentCall, hash_values};
use serde::{Deserialize, Serialize};

/// The requests of a reconcile that are compared.
#[derive(Clone, Debug, PartialEq, Deserialize, Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Wrote {
    #[serde(flatten)]
    pub(super) beginning: Beginning,
    /// Its writes, and the reads that the tape has no answer to, in their order.
    pub(super) sent: Vec<SentCall>,
    /// `None` if it was cut off with the tape.
    pub(super) outcome: Option<String>,
    pub(super) made_up: MadeUp,
    /// Some of its reads could not be as they were.
    pub(super) is_inexact: bool,
    /// The end of it on the tape was not looked for.
    pub(super) is_too_long: bool,
    /// A tape has it, and no replay.
    #[serde(skip)]
    pub(super) is_of_tape: bool,
}

/// The answers that the replay made up for a reconcile.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize, Serialize)]
pub(super) struct MadeUp {
    /// There is one, so the outcome may be another.
    pub(super) any: bool,
    /// How many calls were kept up to the first one about an object of which nothing is known: all behind it is a guess.
    pub(super) behind: Option<usize>,
}

impl MadeUp {
    /// Whether the call at this place is behind a guess; without a place, whether any call is.
    fn is_behind(self, place: Option<usize>) -> bool {
        self.behind.is_some_and(|behind| place.is_none_or(|place| place >= behind))
    }
}

impl Wrote {
    /// The same with hashes of this key in place of confidential values. Without a key, no confidential body is left.
    pub(super) fn withheld(&self, key: Option<[u64; 2]>) -> Self {
        let mut wrote = self.clone();
        for call in wrote.sent.iter_mut().filter(|call| call.hashed && !call.body.is_empty()) {
            call.body = key.map_or_else(|| requests::WITHHELD.to_vec(), |key| hash_values(key, &call.body));
        }
        wrote
    }

    /// What differs in the new one.
    pub(super) fn compare(&self, new: Self) -> Found {
        let (places, used) = places(&self.sent, &new.sent);
        let (mut same, mut secrets_not_compared, mut divergences) = (0, 0, Vec::new());
        let (is_guess, is_made_up) = (new.made_up.is_behind(None), new.made_up.any);
        for (number, (call, place)) in new.sent.into_iter().zip(places).enumerate() {
            let is_behind = new.made_up.is_behind(Some(number)) || self.made_up.is_behind(place);
            let difference = |kind| Difference { is_behind, ..Difference::of(kind, &call) };
            let SentCall { method, target, .. } = match place {
                Some(place) => &self.sent[place],
                None => &call,
            };
            let (method, target) = (method.clone(), target.clone());
            let Some(place) = place else {
                let fields = requests::fields(&call);
                divergences.push(difference(DivergenceKind::Additional { method, target, fields }));
                continue;
            };
            let Compared { fields, is_whole } = Compared::of(&self.sent[place], &call, self.is_of_tape);
            match (is_write(&call), fields.is_empty()) {
                (false, _) => {}
                (true, true) if is_whole => same += 1,
                (true, true) => secrets_not_compared += 1,
                (true, false) => divergences.push(difference(DivergenceKind::Different { method, target, fields })),
            }
        }
        if let (Some(old), Some(new)) = (&self.outcome, new.outcome) {
            let left = self.sent.iter().zip(used).enumerate();
            let left = left.filter(|(_, (call, is_used))| !is_used && is_write(call));
            divergences.extend(left.map(|(place, (call, _))| {
                let is_behind = is_guess || self.made_up.is_behind(Some(place));
                Difference { is_behind, ..missing(call) }
            }));
            let is_behind = is_made_up || self.made_up.any;
            divergences.extend(outcomes(old.clone(), new).map(|kind| Difference { kind, object: None, is_behind }));
        }
        Found {
            beginning: new.beginning,
            same,
            secrets_not_compared,
            is_inexact: self.is_inexact || new.is_inexact,
            is_too_long: self.is_too_long || new.is_too_long,
            divergences,
        }
    }
}

/// The place of the old call that each new one is, and which of the old ones are used. A call takes its equal before
/// another one of its path does.
fn places(old: &[SentCall], new: &[SentCall]) -> (Vec<Option<usize>>, Vec<bool>) {
    let (mut places, mut used) = (vec![None; new.len()], vec![false; old.len()]);
    for holds in [Sought::is_equal, Sought::is_alike] {
        for (place, call) in places.iter_mut().zip(new).filter(|(place, _)| place.is_none()) {
            *place = Sought::new(call).first(old.iter().zip(used.iter().copied()), holds);
            place.iter().for_each(|place| used[*place] = true);
        }
    }
    (places, used)
}

fn missing(call: &SentCall) -> Difference {
    Difference::of(DivergenceKind::Missing { method: call.method.clone(), target: call.target.clone() }, call)
}

/// How two outcomes differ, if they do. Where the tape withheld the messages of errors, so does this.
fn outcomes(recorded: String, replayed: String) -> Option<DivergenceKind> {
    let replayed = told(&recorded, replayed);
    let differ = kind_of(&recorded) != kind_of(&replayed);
    differ.then_some(DivergenceKind::Outcome { recorded, replayed })
}

/// An outcome without its message, if the tape withheld its own.
pub(super) fn told(recorded: &str, replayed: String) -> String {
    if recorded.ends_with(": withheld") { kind_of(&replayed).to_owned() } else { replayed }
}

/// An outcome without the message of an error.
fn kind_of(outcome: &str) -> &str {
    outcome.split_once(": ").map_or(outcome, |(kind, _)| kind)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A reconcile that posted these bodies.
    fn wrote(bodies: &[&str]) -> Wrote {
        let post = |body: &&str| SentCall {
            id: 0,
            method: "POST".into(),
            target: "/api/v1/namespaces/web/events".into(),
            content_type: None,
            body: (*body).into(),
            hashed: false,
        };
        let (of, key, causes) = ("foos".into(), "web/a".into(), Vec::new());
        Wrote {
            beginning: Beginning { number: 1, line: 1, of, key, attempt: 1, causes },
            sent: bodies.iter().map(post).collect(),
            outcome: Some("done".into()),
            made_up: MadeUp::default(),
            is_inexact: false,
            is_too_long: false,
            is_of_tape: true,
        }
    }

    #[test]
    fn one_more_write_leaves_those_behind_it_the_same() {
        let compare = |old: &[&str], new: &[&str]| {
            let Found { same, divergences, .. } = wrote(old).compare(wrote(new));
            (same, divergences.iter().map(|it| it.kind.to_string()).collect::<Vec<_>>())
        };
        let (a, b, c, x) = (r#"{"n":1}"#, r#"{"n":2}"#, r#"{"n":3}"#, r#"{"n":9}"#);
        let post = "POST /api/v1/namespaces/web/events";
        assert_eq!(compare(&[a, b], &[x, a, b]), (2, vec![format!("additional: {post}: n 9")]));
        assert_eq!(compare(&[x, a, b], &[a, b]), (2, vec![format!("missing: {post}")]));
        assert_eq!(compare(&[a, b], &[a, c]), (1, vec![format!("different: {post}: n 2 → 3")]));
    }

    #[test]
    fn a_write_without_a_body_differs_from_one_that_the_tape_has_hashes_of() {
        let secret = |body: &str| {
            let mut wrote = wrote(&[body]);
            wrote.sent[0].hashed = true;
            wrote.sent[0].target = "/api/v1/namespaces/web/secrets/a".into();
            wrote
        };
        let tape = secret(&String::from_utf8(hash_values([1, 2], br#"{"data":{"a":"aHVudGVyMg=="}}"#)).unwrap());
        for old in [tape.clone(), tape.withheld(None), tape.withheld(Some([3, 4]))] {
            for key in [None, Some([3, 4])] {
                let found = old.compare(secret("").withheld(key));
                assert_eq!((found.same, found.secrets_not_compared, found.divergences.len()), (0, 0, 1), "{key:?}");
            }
        }
        let found = tape.withheld(None).compare(tape.withheld(None));
        assert_eq!((found.same, found.secrets_not_compared, found.divergences.len()), (0, 1, 0));
    }

    #[test]
    fn an_error_is_not_told_where_the_tape_withholds_its_own() {
        let differ = |recorded: &str, replayed: &str| outcomes(recorded.to_owned(), replayed.to_owned());
        let outcome = |recorded: &str, replayed: &str| {
            Some(DivergenceKind::Outcome { recorded: recorded.to_owned(), replayed: replayed.to_owned() })
        };
        assert_eq!(differ("failed: a", "failed: b"), None);
        assert_eq!(differ("requeue 5s", "requeue 6s"), outcome("requeue 5s", "requeue 6s"));
        assert_eq!(differ("done", "failed: no such name"), outcome("done", "failed: no such name"));
        assert_eq!(differ("panicked: withheld", "failed: aGVsbG8="), outcome("panicked: withheld", "failed"));
    }
}
