//! When a certificate is made, and when it takes the place of another one. It reads no clock.

use core::time::Duration;
use listwatch::time::WallTime;
use serde::{Deserialize, Serialize};

/// What the replicas of a program share.
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Stored {
    /// The certificate that is served.
    pub(crate) current: Pair,
    /// The one after it, which waits until its authority is known.
    next: Option<Pair>,
    /// The authority of the one before it, which a replica may still serve.
    previous: Option<String>,
}

/// A certificate, its key and its authority, as PEM.
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Pair {
    pub(crate) chain: String,
    pub(crate) key: String,
    pub(crate) authority: String,
    pub(crate) names: Vec<String>,
    pub(crate) made: WallTime,
    pub(crate) expires: WallTime,
}

/// What is to be done with the certificates.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Step {
    /// Nothing.
    Keep,
    /// There is none that could be used: one is made, and served at once.
    Begin,
    /// The next one is made, and its authority is told.
    Prepare,
    /// The next one is served.
    Promote,
}

/// What comes next. `is_known` says whether all authorities have been in the configuration for the time that servers need
/// to hear of them.
pub(crate) fn step(stored: Option<&Stored>, names: &[String], now: WallTime, is_known: bool) -> Step {
    let Some(stored) = stored.filter(|it| it.fits(names) && now < it.current.expires) else { return Step::Begin };
    match &stored.next {
        Some(_) if is_known => Step::Promote,
        None if stored.current.is_half_over(now) => Step::Prepare,
        _ => Step::Keep,
    }
}

/// How long an authority is in the configuration before a certificate needs it.
pub(crate) fn grace(lifetime: Duration) -> Duration {
    (lifetime / 10).min(Duration::from_secs(300))
}

impl Pair {
    fn is_half_over(&self, now: WallTime) -> bool {
        now.saturating_since(self.made) >= self.expires.saturating_since(self.made) / 2
    }
}

/// So many names of a certificate are kept, if the address changes.
const MOST_NAMES: usize = 8;

impl Stored {
    /// A first certificate, or one in place of others that cannot be used.
    pub(crate) fn begun(current: Pair, before: Option<&Self>) -> Self {
        Self { current, next: None, previous: before.map(|before| before.current.authority.clone()) }
    }

    pub(crate) fn prepared(self, next: Pair) -> Self {
        Self { next: Some(next), previous: None, ..self }
    }

    pub(crate) fn promoted(self) -> Self {
        match self.next {
            Some(next) => Self { previous: Some(self.current.authority), current: next, next: None },
            None => self,
        }
    }

    fn pairs(&self) -> impl Iterator<Item = &Pair> {
        [&self.current].into_iter().chain(&self.next)
    }

    /// The authorities of all certificates that a replica may serve.
    pub(crate) fn authorities(&self) -> String {
        self.pairs().map(|pair| pair.authority.as_str()).chain(self.previous.as_deref()).collect()
    }

    fn fits(&self, names: &[String]) -> bool {
        self.pairs().all(|pair| names.iter().all(|name| pair.names.contains(name)))
    }

    /// The names of a new certificate. Replicas of another version of the program may need the names that there are.
    pub(crate) fn names(names: &[String], before: Option<&Self>) -> Vec<String> {
        let known = before.into_iter().flat_map(|it| &it.current.names).filter(|name| !names.contains(name));
        names.iter().chain(known).take(MOST_NAMES).cloned().collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(second: i64) -> WallTime {
        WallTime::from_unix_seconds(second)
    }

    fn pair(number: i64) -> Pair {
        let text = |what: &str| format!("{what} {number}\n");
        let names = vec!["a".to_owned()];
        let (made, expires) = (at(number), at(number + 100));
        Pair { chain: text("chain"), key: text("key"), authority: text("authority"), names, made, expires }
    }

    fn names(names: &[&str]) -> Vec<String> {
        names.iter().map(|name| (*name).to_owned()).collect()
    }

    #[test]
    fn a_certificate_is_prepared_at_half_of_its_time_and_served_once_it_is_known() {
        let step = |stored: &Stored, second, is_known| step(Some(stored), &names(&["a"]), at(second), is_known);
        let stored = Stored::begun(pair(0), None);
        assert_eq!([49, 50].map(|second| step(&stored, second, true)), [Step::Keep, Step::Prepare]);
        let stored = stored.prepared(pair(50));
        assert_eq!(stored.authorities(), "authority 0\nauthority 50\n");
        assert_eq!([step(&stored, 60, false), step(&stored, 60, true)], [Step::Keep, Step::Promote]);
        let stored = stored.promoted();
        assert_eq!((&*stored.current.key, &*stored.authorities()), ("key 50\n", "authority 50\nauthority 0\n"));
        assert_eq!([99, 100].map(|second| step(&stored, second, true)), [Step::Keep, Step::Prepare]);
        assert_eq!(stored.prepared(pair(100)).authorities(), "authority 50\nauthority 100\n");
    }

    #[test]
    fn a_certificate_that_cannot_be_used_is_replaced_at_once() {
        let stored = Stored::begun(pair(0), None);
        let step = |stored, wanted: &[&str], second| step(stored, &names(wanted), at(second), false);
        assert_eq!(step(None, &["a"], 0), Step::Begin);
        assert_eq!(step(Some(&stored), &["a"], 100), Step::Begin, "expired");
        assert_eq!(step(Some(&stored), &["a", "b"], 0), Step::Begin, "of another name");
        assert_eq!(Stored::names(&names(&["b"]), Some(&stored)), ["b", "a"]);
        let begun = Stored::begun(pair(100), Some(&stored));
        assert_eq!(begun.authorities(), "authority 100\nauthority 0\n");
    }

    #[test]
    fn an_authority_is_known_for_five_minutes_at_most() {
        assert_eq!(grace(Duration::from_secs(20)), Duration::from_secs(2));
        assert_eq!(grace(Duration::from_secs(90 * 24 * 3600)), Duration::from_secs(300));
    }
}
