//! Where the two differ on purpose, and nowhere else.
//!
//! | client-go | ours |
//! |---|---|
//! | another object under the same name is an update | `Recreated`, which [`Notification::of`] calls an update |
//! | a period is rounded up to whole ticks of the informer, and counts from one of them; without an informer's period there is none | each subscriber's own: here it asks for what client-go makes of it ([`period`]) |
//! | whoever was due at the last tick is told of objects that a list shows unchanged, and so is everybody before the first tick | everybody but those who asked for [quiet](Handler::quiet); where there are both ticks and lists, only changes are compared |
//! | a handler that is slow has an unbounded buffer | it holds the informer back, or what it does not read is folded: [in order, up to the last state](is_folding) |
//! | an object of the first list that is created again at once is told after that list | while a handler holds the informer back, both are taken at once: [both are of the first list](is_held_equal) |
//! | the resync of a late joiner comes at the first tick after its period | when its period is over: [a tick later at most](LATE) |

#[cfg(test)]
use crate::handlers::cast::Act;
use crate::handlers::cast::{Cast, Habit, Handler, What};
use crate::handlers::simulate::Theme;
use crate::handlers::told::{ByKey, Kind, Notification, Told, by_key};
use std::fmt::Debug;
use std::time::Duration;

/// How much later client-go's resync of a late joiner may come: it joins just before a tick.
const LATE: u64 = 1;

/// The period that client-go has for a handler: it ticks as often as the first handlers and the informer ask it to.
pub(crate) fn period(cast: &Cast, handler: &Handler) -> Duration {
    let asked = |handler: &Handler| handler.resync.unwrap_or(cast.resync);
    let early = cast.script.iter().filter(|act| act.at.is_none()).filter_map(|act| match act.what {
        What::Join(number) => Some(asked(&cast.handlers[number])),
        What::Leave(_) | What::Look => None,
    });
    let tick = early.filter(|period| !period.is_zero()).fold(cast.resync, Duration::min);
    if tick.is_zero() {
        return Duration::ZERO;
    }
    tick * asked(handler).as_nanos().div_ceil(tick.as_nanos()) as u32
}

/// Where the two part, if they do.
pub(crate) fn agree(theme: Theme, cast: &Cast, theirs: &Told, ours: &Told) -> Result<(), String> {
    if let Some(confused) = &theirs.confused {
        return Err(format!("client-go asks otherwise: {confused:?}"));
    }
    for (number, (theirs, ours)) in theirs.handlers.iter().zip(&ours.handlers).enumerate() {
        if let Some(differs) = compare(theme, cast, number, [theirs, ours]) {
            return Err(format!("{theme:?}, {:?}, {:?}\n{differs}", cast.handlers[number], cast.script));
        }
    }
    same("synced", cast, &theirs.synced, &ours.synced)?;
    same("store", cast, &theirs.store, &ours.store)
}

/// Go writes null for what is empty.
fn same<T: Default + PartialEq + Debug>(
    what: &str,
    cast: &Cast,
    theirs: &Option<Vec<T>>,
    ours: &Option<Vec<T>>,
) -> Result<(), String> {
    let [theirs, ours] = [theirs, ours].map(|side| side.as_deref().unwrap_or_default());
    let differs = || format!("{what}, {:?}\n  client-go: {theirs:?}\n  ours:      {ours:?}", cast.script);
    if theirs == ours { Ok(()) } else { Err(differs()) }
}

/// The key of which the two told a handler something else, and what.
fn compare(theme: Theme, cast: &Cast, number: usize, told: [&[Notification]; 2]) -> Option<String> {
    let handler = &cast.handlers[number];
    let is_late = cast.script.iter().any(|act| act.what == What::Join(number) && act.at.is_some());
    let at = |told: &Notification, late| match theme {
        Theme::Faults | Theme::Both => 0,
        Theme::Resync => told.at + if is_late && told.is_sync() { late } else { 0 },
    };
    let normal = |told: &[Notification], late, without_syncs| {
        let compared = told.iter().filter(|told| !(without_syncs && told.is_sync()));
        by_key(compared.map(|told| Notification { at: at(told, late), ..told.clone() }))
    };
    // A quiet subscriber is to have none by itself.
    let theirs = normal(told[0], 0, theme == Theme::Both || theme == Theme::Faults && handler.quiet);
    let ours = normal(told[1], LATE, theme == Theme::Both);
    let of = |told: &ByKey, key: &String| told.get(key).cloned().unwrap_or_default();
    let is_held = cast.handlers.iter().any(|handler| handler.habit != Habit::Eager && !handler.coalesces);
    let same = |theirs: &[Notification], ours: &[Notification]| match handler.coalesces {
        true => is_folding(theirs, ours),
        false => theirs == ours || is_held && is_held_equal(theirs, ours),
    };
    let differs = theirs.keys().chain(ours.keys()).find(|key| !same(&of(&theirs, key), &of(&ours, key)))?;
    let list = |told: Vec<Notification>| told.iter().map(|one| format!("\n    {one:?}")).collect::<String>();
    let [theirs, ours] = [of(&theirs, differs), of(&ours, differs)].map(list);
    Some(format!("handler {number}, {differs}\n  client-go:{theirs}\n  ours:{ours}"))
}

/// Whether the two are the same, but that an addition may be of the first list in ours alone. A filter may have left out
/// the object that the list had.
fn is_held_equal(theirs: &[Notification], ours: &[Notification]) -> bool {
    let is_same = |(theirs, ours): (&Notification, &Notification)| {
        let is_added = theirs.event == Kind::Add;
        theirs == ours || is_added && *ours == Notification { initial: true, ..theirs.clone() }
    };
    theirs.len() == ours.len() && theirs.iter().zip(ours).all(is_same)
}

/// Whether ours left out some of the states of an object and told the others in their order, each with the one that it
/// told before, and the last one.
fn is_folding(theirs: &[Notification], ours: &[Notification]) -> bool {
    let mut left = theirs.iter().map(Notification::after);
    let mut last = None;
    for told in ours {
        let follows = match told.event {
            Kind::Add => last.is_none(),
            Kind::Update => last == told.old.as_ref(),
            Kind::Delete => last.is_some(),
        };
        last = told.after();
        if !follows || !left.any(|state| state == last) {
            return false;
        }
    }
    last == theirs.last().and_then(Notification::after)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::handlers::told::State;

    fn told(event: Kind, old: &str, rv: &str) -> Notification {
        let state = |rv: &str| State { uid: "u".into(), rv: rv.into() };
        let old = Some(state(old)).filter(|old| !old.rv.is_empty());
        Notification { at: 0, event, key: "k".into(), state: state(rv), old, initial: false, unknown: false }
    }

    #[test]
    fn a_folding_goes_forward_from_what_was_told_to_the_last_state() {
        use Kind::{Add, Delete, Update};
        let all = [told(Add, "", "1"), told(Update, "1", "2"), told(Update, "2", "3"), told(Delete, "", "4")];
        assert!(is_folding(&all[..3], &[told(Add, "", "1"), told(Update, "1", "3")]));
        assert!(is_folding(&all[..3], &[told(Add, "", "3")]));
        assert!(is_folding(&all, &[]));
        assert!(!is_folding(&all[..3], &[]), "the last state is missing");
        assert!(!is_folding(&all[..3], &[told(Add, "", "2")]), "the last state is missing");
        assert!(!is_folding(&all[..3], &[told(Add, "", "1"), told(Update, "2", "3")]), "2 was not told");
        assert!(!is_folding(&all[..2], &[told(Add, "", "2"), told(Update, "2", "1")]), "back in time");
        assert!(!is_folding(&all, &[told(Delete, "", "4")]), "it was not there");
    }

    #[test]
    fn a_period_is_whole_ticks_as_client_go_rounds_it_up() {
        let seconds = Duration::from_secs;
        let handler = |resync: Option<u64>| Handler {
            resync: resync.map(seconds),
            without: None,
            quiet: false,
            coalesces: false,
            habit: Habit::Eager,
        };
        let early = Act { at: None, what: What::Join(0) };
        let cast =
            |resync, first| Cast { resync: seconds(resync), handlers: vec![handler(first)], script: vec![early] };
        for (informer, first, asked, period) in [
            (10, None, None, 10),
            (10, None, Some(0), 0),
            (10, None, Some(15), 20),
            (10, Some(4), Some(5), 8),
            (10, Some(4), Some(1), 4),
            (0, Some(4), Some(4), 0),
        ] {
            assert_eq!(super::period(&cast(informer, first), &handler(asked)), seconds(period), "{asked:?}");
        }
    }
}
