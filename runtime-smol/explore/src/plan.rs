//! What goes wrong in a run, and where.

use crate::place::Place;
use core::fmt;
use core::str::FromStr;
use core::time::Duration;

/// What goes wrong in a run. It is a text, which a test keeps: [`Exploration::replay`](crate::Exploration::replay) runs it
/// again.
///
/// ```
/// use listwatch_explore::Plan;
///
/// let plan = Plan::parse("POST apps/v1/deployments web/b 1: killed stored, back behind 3; STEP 1: cut")?;
/// assert_eq!(plan.disturbances.len(), 2);
/// assert_eq!(Plan::parse(&plan.to_string())?, plan);
/// # Ok::<(), String>(())
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Plan {
    /// What goes wrong, each once.
    pub disturbances: Vec<Disturbance>,
}

/// Something that goes wrong at a place.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Disturbance {
    /// Where.
    pub place: Place,
    /// What.
    pub trouble: Trouble,
}

/// Something that goes wrong.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[non_exhaustive]
pub enum Trouble {
    /// The process dies before the request arrives, or before an effect outside of the cluster.
    KilledBefore(Back),
    /// The process dies when the request was processed, before its answer arrives, or after an effect outside.
    KilledAfter(Back),
    /// The process stands still before the request arrives. A second replica starts, and runs until it has settled, or
    /// waits for a Lease. Then the first goes on with what it knew, and the second is gone.
    Paused,
    /// The same, and the scenario makes its next step meanwhile.
    PausedLong,
    /// The server refuses the request with this status.
    Refused(u16),
    /// The request is processed, and its answer is lost. An effect outside happens, and is told as failed.
    Lost,
    /// The request arrives ten seconds late.
    Slow,
    /// An effect outside fails before it happens.
    Failed,
    /// Another client changes the object before the request arrives.
    Touched,
    /// Another client deletes the object before the request arrives.
    Deleted,
    /// Another client deletes the object, and creates it again with its first contents.
    Recreated,
    /// The watches of this resource stand still for ten seconds.
    Stalled(String),
    /// The watches of this resource stand still for 25 s, while the scenario goes on.
    StalledLong(String),
    /// The watches of this resource are so many milliseconds late, up to the end.
    Late(String, u64),
    /// All connections break.
    Cut,
    /// All connections break, and no watch goes on from an old version.
    Compacted,
    /// All connections break, and those after it reach an API server whose watch caches lack so many changes for ten seconds.
    Older(u32),
    /// All requests of this resource are refused with 403 for 20 s.
    Forbidden,
    /// The date of the process is half a minute ahead of the cluster's for 25 s, or behind it.
    Apart(Apart),
}

/// How the date of a process differs from the cluster's.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Apart {
    /// It is later.
    Ahead,
    /// It is earlier.
    Behind,
}

/// How a process is back after its death.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Back {
    /// At once.
    AtOnce,
    /// When the scenario has made its next step.
    Later,
    /// At once, at an API server whose watch caches lack so many changes for ten seconds.
    Behind(u32),
    /// At once, at an API server whose watch cache of this resource lacks so many of its changes for ten seconds.
    BehindOf(u32, String),
}

impl Plan {
    /// Reads a plan as it is displayed: disturbances on lines of their own, or with `;` between.
    ///
    /// # Errors
    /// A text that names what is no disturbance.
    pub fn parse(text: &str) -> Result<Self, String> {
        text.parse()
    }

    /// Without one of its disturbances.
    pub(crate) fn without(&self, index: usize) -> Self {
        let mut plan = self.clone();
        plan.disturbances.remove(index);
        plan
    }
}

/// How long a kind of trouble lasts that passes by itself.
pub(crate) const SHORT: Duration = Duration::from_secs(10);
pub(crate) const LONG: Duration = Duration::from_secs(25);
pub(crate) const FORBIDDEN: Duration = Duration::from_secs(20);
/// How far the dates of two clocks are apart. A program that waits by its date has done so before the end is judged.
pub(crate) const APART: Duration = Duration::from_secs(30);

impl Trouble {
    /// Which simpler troubles may do the same.
    pub(crate) fn simpler(&self) -> Vec<Self> {
        match self {
            Self::KilledBefore(back) => back.simpler().into_iter().map(Self::KilledBefore).collect(),
            Self::KilledAfter(back) => back.simpler().into_iter().map(Self::KilledAfter).collect(),
            Self::StalledLong(resource) => vec![Self::Stalled(resource.clone())],
            Self::Recreated => vec![Self::Deleted],
            Self::Compacted => vec![Self::Cut],
            Self::Older(changes) => core::iter::once(Self::Cut).chain((1..*changes).map(Self::Older)).collect(),
            Self::PausedLong => vec![Self::Paused],
            _ => Vec::new(),
        }
    }

    /// Whether a second replica runs meanwhile. No third one comes.
    pub(crate) fn is_pause(&self) -> bool {
        matches!(self, Self::Paused | Self::PausedLong)
    }

    /// Whether it may be why a step of the scenario finds no object, or another one: a client writes, or the scenario goes on
    /// before the program does.
    pub(crate) fn may_take_an_object(&self) -> bool {
        matches!(
            self,
            Self::Touched
                | Self::Deleted
                | Self::Recreated
                | Self::PausedLong
                | Self::StalledLong(_)
                | Self::KilledBefore(Back::Later)
                | Self::KilledAfter(Back::Later)
        )
    }

    /// Whether it happens when the answer to a single request comes.
    pub(crate) fn meets_answer(&self, place: &Place) -> bool {
        matches!(self, Self::KilledAfter(_) | Self::Lost) && !matches!(place.verb(), "LIST" | "WATCH" | "CALL" | "STEP")
    }

    /// Whether it can happen at a place, with a process of the program or without one.
    pub(crate) fn can_meet(&self, place: &Place, has_process: bool) -> bool {
        let is_step = place.verb() == "STEP";
        match self {
            Self::KilledBefore(_) | Self::KilledAfter(_) | Self::Paused | Self::PausedLong => has_process,
            Self::Cut | Self::Older(_) | Self::Apart(_) => has_process,
            Self::Stalled(_) | Self::StalledLong(_) | Self::Late(..) | Self::Compacted => true,
            Self::Refused(_) | Self::Lost => !is_step,
            Self::Failed => place.verb() == "CALL",
            Self::Slow | Self::Forbidden => !place.resource().is_empty(),
            Self::Touched | Self::Deleted | Self::Recreated => !place.resource().is_empty() && !place.key().is_empty(),
        }
    }

    /// Its kind, for the coverage.
    pub(crate) fn name(&self) -> String {
        let text = self.to_string();
        let words: Vec<&str> = text.split([' ', ',']).take(2).collect();
        match self {
            Self::KilledBefore(Back::Behind(_) | Back::BehindOf(..))
            | Self::KilledAfter(Back::Behind(_) | Back::BehindOf(..)) => "behind".to_owned(),
            Self::KilledBefore(_) | Self::KilledAfter(_) | Self::Refused(_) => words.join(" "),
            _ => words[0].to_owned(),
        }
    }

    /// What happens, as a sentence about the program.
    pub(crate) fn told(&self, place: &Place) -> String {
        let at = described(place);
        match self {
            Self::KilledBefore(back) => format!("the program is killed before {at}, and {}", back.told()),
            Self::KilledAfter(back) if place.verb() == "STEP" => {
                format!("the program is killed at {at}, and {}", back.told())
            }
            Self::KilledAfter(back) => format!("the program is killed after {at} was done, and {}", back.told()),
            Self::Paused => format!("the program stands still before {at}, while a second replica runs"),
            Self::PausedLong => {
                format!("the program stands still before {at}, while the scenario goes on and a second replica runs")
            }
            Self::Refused(code) => format!("the server refuses {at} with {code}"),
            Self::Lost => format!("the answer to {at} is lost after it was done"),
            Self::Slow => format!("{at} takes ten seconds to arrive"),
            Self::Failed => format!("{at} fails, and nothing is done"),
            Self::Touched => format!("another client annotates the object before {at}"),
            Self::Deleted => format!("another client deletes the object before {at}"),
            Self::Recreated => format!("another client deletes the object and creates it again before {at}"),
            Self::Stalled(resource) => format!("the watches of {resource} stand still for 10 s from {at} on"),
            Self::StalledLong(resource) => format!("the watches of {resource} stand still for 25 s from {at} on"),
            Self::Late(resource, millis) => format!("the watches of {resource} are {millis} ms late from {at} on"),
            Self::Cut => format!("all connections break at {at}"),
            Self::Compacted => format!("all connections break at {at}, and old versions expire"),
            Self::Older(changes) => {
                format!("all connections break at {at}, and the program reaches {}", lagging(*changes))
            }
            Self::Forbidden => format!("the server forbids {} for 20 s from {at} on", place.resource()),
            Self::Apart(apart) => format!("the date of the program is 30 s {apart} for 25 s from {at} on"),
        }
    }
}

impl Back {
    fn simpler(&self) -> Vec<Self> {
        match self {
            Self::AtOnce => Vec::new(),
            Self::Later => vec![Self::AtOnce],
            Self::Behind(changes) => core::iter::once(Self::AtOnce).chain((1..*changes).map(Self::Behind)).collect(),
            Self::BehindOf(changes, _) => vec![Self::AtOnce, Self::Behind(*changes)],
        }
    }

    fn told(&self) -> String {
        match self {
            Self::AtOnce => "restarts at once".to_owned(),
            Self::Later => "restarts when the scenario has made its next step".to_owned(),
            Self::Behind(changes) => format!("restarts against {}", lagging(*changes)),
            Self::BehindOf(changes, resource) => {
                format!("restarts against an API server that has not seen the last {changes} changes of {resource}")
            }
        }
    }
}

fn lagging(changes: u32) -> String {
    let changes = if changes == 1 { "one change".to_owned() } else { format!("{changes} changes") };
    format!("an API server that lags by {changes} for 10 s")
}

fn described(place: &Place) -> String {
    match (place.verb(), place.nth) {
        ("STEP", nth) => format!("step {nth} of the scenario"),
        ("CALL", 1) => format!("the call {:?}", place.name()),
        ("CALL", nth) => format!("call {nth} of {:?}", place.name()),
        (_, 1) => place.at.clone(),
        (_, nth) => format!("{} (the {nth}. time)", place.at),
    }
}

impl fmt::Display for Plan {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (index, disturbance) in self.disturbances.iter().enumerate() {
            let separator = if index > 0 { "; " } else { "" };
            write!(f, "{separator}{disturbance}")?;
        }
        Ok(())
    }
}

impl fmt::Display for Disturbance {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.place, self.trouble)
    }
}

impl fmt::Display for Trouble {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::KilledBefore(back) => write!(f, "killed before, back {back}"),
            Self::KilledAfter(back) => write!(f, "killed stored, back {back}"),
            Self::Paused => f.write_str("paused"),
            Self::PausedLong => f.write_str("paused-long"),
            Self::Refused(code) => write!(f, "refused {code}"),
            Self::Lost => f.write_str("lost"),
            Self::Slow => f.write_str("slow"),
            Self::Failed => f.write_str("failed"),
            Self::Touched => f.write_str("touched"),
            Self::Deleted => f.write_str("deleted"),
            Self::Recreated => f.write_str("recreated"),
            Self::Stalled(resource) => write!(f, "stalled {resource}"),
            Self::StalledLong(resource) => write!(f, "stalled-long {resource}"),
            Self::Late(resource, millis) => write!(f, "late {resource} {millis}"),
            Self::Cut => f.write_str("cut"),
            Self::Compacted => f.write_str("compacted"),
            Self::Older(changes) => write!(f, "older {changes}"),
            Self::Forbidden => f.write_str("forbidden"),
            Self::Apart(apart) => write!(f, "apart {apart}"),
        }
    }
}

impl fmt::Display for Apart {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Ahead => "ahead",
            Self::Behind => "behind",
        })
    }
}

impl fmt::Display for Back {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::AtOnce => f.write_str("at once"),
            Self::Later => f.write_str("later"),
            Self::Behind(changes) => write!(f, "behind {changes}"),
            Self::BehindOf(changes, resource) => write!(f, "behind {changes} {resource}"),
        }
    }
}

/// As [`Plan::parse`].
impl FromStr for Plan {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let parts = text.split(['\n', ';']).map(str::trim).filter(|part| !part.is_empty());
        Ok(Self { disturbances: parts.map(str::parse).collect::<Result<_, _>>()? })
    }
}

impl FromStr for Disturbance {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let (place, trouble) = text.rsplit_once(": ").ok_or_else(|| format!("{text:?} has no `: ` after its place"))?;
        Ok(Self { place: place.parse()?, trouble: trouble.parse()? })
    }
}

impl FromStr for Trouble {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let words: Vec<&str> = text.split([' ', ',']).filter(|word| !word.is_empty()).collect();
        let number = |word: &str| word.parse::<u32>().map_err(|_| format!("{word:?} is no number, in {text:?}"));
        Ok(match words[..] {
            ["killed", "before", "back", ref back @ ..] => Self::KilledBefore(read_back(back, text)?),
            ["killed", "stored", "back", ref back @ ..] => Self::KilledAfter(read_back(back, text)?),
            ["paused"] => Self::Paused,
            ["paused-long"] => Self::PausedLong,
            ["refused", code] => {
                let refused = code.parse().ok().filter(|code| (400..600).contains(code));
                Self::Refused(refused.ok_or_else(|| format!("{code:?} is no status of a refusal"))?)
            }
            ["lost"] => Self::Lost,
            ["slow"] => Self::Slow,
            ["failed"] => Self::Failed,
            ["touched"] => Self::Touched,
            ["deleted"] => Self::Deleted,
            ["recreated"] => Self::Recreated,
            ["stalled", resource] => Self::Stalled(resource.to_owned()),
            ["stalled-long", resource] => Self::StalledLong(resource.to_owned()),
            ["late", resource, millis] => Self::Late(resource.to_owned(), number(millis)?.into()),
            ["cut"] => Self::Cut,
            ["compacted"] => Self::Compacted,
            ["older", changes] => Self::Older(number(changes)?),
            ["forbidden"] => Self::Forbidden,
            ["apart", "ahead"] => Self::Apart(Apart::Ahead),
            ["apart", "behind"] => Self::Apart(Apart::Behind),
            _ => return Err(format!("{text:?} is no trouble")),
        })
    }
}

fn read_back(words: &[&str], text: &str) -> Result<Back, String> {
    match *words {
        ["at", "once"] => Ok(Back::AtOnce),
        ["later"] => Ok(Back::Later),
        ["behind", changes, ref of @ ..] if of.len() < 2 => {
            let changes = changes.parse().map_err(|_| format!("{changes:?} is no number"))?;
            Ok(of.first().map_or(Back::Behind(changes), |of| Back::BehindOf(changes, (*of).to_owned())))
        }
        _ => Err(format!("{text:?} does not say how the process is back")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_trouble_is_read_as_it_is_written() {
        let pods = || "v1/pods".to_owned();
        for trouble in [
            Trouble::KilledBefore(Back::AtOnce),
            Trouble::KilledAfter(Back::Later),
            Trouble::KilledAfter(Back::Behind(3)),
            Trouble::KilledBefore(Back::BehindOf(2, pods())),
            Trouble::Paused,
            Trouble::PausedLong,
            Trouble::Refused(409),
            Trouble::Lost,
            Trouble::Slow,
            Trouble::Failed,
            Trouble::Touched,
            Trouble::Deleted,
            Trouble::Recreated,
            Trouble::Stalled(pods()),
            Trouble::StalledLong(pods()),
            Trouble::Late(pods(), 200),
            Trouble::Cut,
            Trouble::Compacted,
            Trouble::Older(2),
            Trouble::Forbidden,
            Trouble::Apart(Apart::Ahead),
            Trouble::Apart(Apart::Behind),
        ] {
            let place = Place { at: "PATCH v1/pods web/a/status".into(), nth: 2 };
            let plan = Plan { disturbances: vec![Disturbance { place, trouble }] };
            assert_eq!(Plan::parse(&plan.to_string()), Ok(plan.clone()), "{plan}");
        }
    }

    #[test]
    fn a_text_that_is_no_plan_is_told() {
        for text in ["PATCH", "PATCH v1/pods a: lost", "PATCH v1/pods a 1: gone", "STEP 1: killed stored, back soon"] {
            assert!(Plan::parse(text).is_err(), "{text}");
        }
    }
}
