//! What goes wrong by a program.

use core::fmt;

/// What has gone wrong by the program.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Fault {
    /// An invariant does not hold after a write.
    Invariant(String, String),
    /// The end is not as the test requires it.
    Required(String),
    /// The scenario of the test failed, after this step of it.
    Scenario(String),
    /// The end differs from that of the undisturbed run.
    End(Vec<String>),
    /// The program returned this error, or returned before its end.
    Ended(String),
    /// The program panicked.
    Panicked(String),
    /// The program writes without an end.
    Endless(String),
    /// The program repeats a write that changes nothing.
    Idle(String),
    /// A key fails again and again up to the end, although nothing disturbs it any more.
    Failing(String),
    /// A plan that is replayed names a place that the run does not reach.
    NotReached(String),
    /// Two undisturbed runs differ: no promise holds.
    NotDeterministic(String),
    /// The exploration itself is wrong, such as by a name that is none.
    Setup(String),
}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Invariant(name, why) => write!(f, "{name:?} does not hold after a write: {why}"),
            Self::Required(why) => f.write_str(why),
            Self::Scenario(why) => write!(f, "the scenario failed: {why}"),
            Self::End(differences) => {
                f.write_str("the end differs from that of the undisturbed run:")?;
                differences.iter().take(12).try_for_each(|text| write!(f, "\n    {text}"))
            }
            Self::Ended(why) => write!(f, "the program ended: {why}"),
            Self::Panicked(message) => write!(f, "the program panicked: {message}"),
            Self::Endless(why) => write!(f, "the program writes without an end: {why}"),
            Self::Idle(at) => write!(f, "the program repeats a write that changes nothing: {at}"),
            Self::Failing(key) => write!(f, "a key goes on to fail, although nothing disturbs it: {key}"),
            Self::Setup(why) => write!(f, "the exploration is set up wrongly: {why}"),
            Self::NotReached(disturbance) => write!(f, "the run does not reach this place of the plan: {disturbance}"),
            Self::NotDeterministic(why) => write!(
                f,
                "two undisturbed runs differ: {why}. A program under simulated time has no clock, threads or randomness of \
                 its own, and does not depend on the order of a `HashMap`"
            ),
        }
    }
}

impl Fault {
    /// Whether this is the fault that a longer run has shown, or a part of it. Of differences, the objects, the fields and
    /// the values are the same. A message of the program or of the test may have other numbers, such as times.
    pub(crate) fn is_of(&self, longer: &Self) -> bool {
        match (self, longer) {
            (Self::End(part), Self::End(all)) => part.iter().all(|text| all.contains(text)),
            (Self::Invariant(name, why), Self::Invariant(other, as_before)) => {
                name == other && without_numbers(why) == without_numbers(as_before)
            }
            (Self::Required(why), Self::Required(as_before))
            | (Self::Scenario(why), Self::Scenario(as_before))
            | (Self::Ended(why), Self::Ended(as_before))
            | (Self::Panicked(why), Self::Panicked(as_before))
            | (Self::Endless(why), Self::Endless(as_before)) => without_numbers(why) == without_numbers(as_before),
            _ => self == longer,
        }
    }
}

/// A message with each number as `#`.
fn without_numbers(message: &str) -> String {
    let mut text: String = message.chars().map(|letter| if letter.is_ascii_digit() { '#' } else { letter }).collect();
    while text.contains("##") {
        text = text.replace("##", "#");
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    fn end(texts: &[&str]) -> Fault {
        Fault::End(texts.iter().map(|text| (*text).to_owned()).collect())
    }

    #[test]
    fn a_fault_of_another_place_or_value_is_another_one() {
        let (replicas, missing) = ("web/a spec replicas is 0 instead of 5", "web/b is missing");
        assert!(end(&[replicas]).is_of(&end(&[replicas])));
        assert!(end(&[replicas]).is_of(&end(&[replicas, missing])), "a part of it");
        assert!(!end(&[replicas, missing]).is_of(&end(&[replicas])), "more than it");
        assert!(!end(&["web/a spec replicas is 0 instead of 2"]).is_of(&end(&[replicas])));
        assert!(!end(&[missing]).is_of(&end(&[replicas])));
        for of in [Fault::Idle, Fault::Failing, Fault::NotReached] {
            assert!(of("keep: web/a-1".into()).is_of(&of("keep: web/a-1".into())));
            assert!(!of("keep: web/a-2".into()).is_of(&of("keep: web/a-1".into())));
        }
    }

    #[test]
    fn a_message_may_have_other_numbers_and_no_other_words() {
        let invariant = |why: &str| Fault::Invariant("few".into(), why.into());
        let all: [fn(&str) -> Fault; 6] = [
            invariant,
            |why| Fault::Required(why.into()),
            |why| Fault::Scenario(why.into()),
            |why| Fault::Ended(why.into()),
            |why| Fault::Panicked(why.into()),
            |why| Fault::Endless(why.into()),
        ];
        for of in all {
            assert!(of("7 pods after 10 s").is_of(&of("12 pods after 9 s")));
            assert!(!of("7 pods after 10 s").is_of(&of("7 nodes after 10 s")));
            assert!(!of("7 pods").is_of(&end(&["7 pods"])));
        }
        assert!(!Fault::Invariant("many".into(), "7 pods".into()).is_of(&invariant("7 pods")));
    }
}
