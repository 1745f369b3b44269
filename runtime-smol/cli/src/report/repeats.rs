//! Which failures of a series are reported.

use listwatch::reflector::FailureClass;

/// Reports the first failure, each failure of another class, and of further attempts the 2nd, 4th, 8th and so on.
#[derive(Default)]
pub(crate) struct Repeats {
    /// The class of the last failure, until the recovery.
    class: Option<FailureClass>,
}

impl Repeats {
    /// Whether to report this failure, the last one of so many attempts.
    pub(crate) fn is_due(&mut self, class: FailureClass, attempts: u32) -> bool {
        let is_new = self.class.replace(class) != Some(class);
        is_new || attempts.is_power_of_two()
    }

    /// Whether a failure was reported, and no recovery.
    pub(crate) fn is_failing(&self) -> bool {
        self.class.is_some()
    }

    /// Ends the series. Returns whether a failure was reported, so that its end is worth a report.
    pub(crate) fn recover(&mut self) -> bool {
        self.class.take().is_some()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_failure_is_reported_ever_less_often_until_its_class_changes_or_it_is_over() {
        let mut repeats = Repeats::default();
        let due = |repeats: &mut Repeats, class| (1..=9).filter(|attempt| repeats.is_due(class, *attempt)).collect();
        let reported: Vec<u32> = due(&mut repeats, FailureClass::Unreachable);
        assert_eq!(reported, [1, 2, 4, 8]);
        assert!(repeats.is_due(FailureClass::Malformed, 11) && !repeats.is_due(FailureClass::Malformed, 12));
        assert!(repeats.is_failing() && repeats.recover());
        assert!(!repeats.is_failing() && !repeats.recover());
        assert!(repeats.is_due(FailureClass::Malformed, 13));
    }
}
