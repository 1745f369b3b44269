//! How large the ReplicaSets of a Deployment are to be, as Kubernetes' deployment controller decides it.

use crate::object::count;
use serde_json::Value;

/// What a Deployment wants.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Rollout {
    pub(crate) replicas: usize,
    strategy: Strategy,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Strategy {
    /// The old pods are gone before there are new ones.
    Recreate,
    /// There are so many more pods meanwhile, and so many fewer that are available.
    Rolling { surge: usize, unavailable: usize },
}

/// The size of a ReplicaSet.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Size {
    pub(crate) wanted: usize,
    pub(crate) present: usize,
    pub(crate) available: usize,
}

impl Size {
    pub(crate) fn of(set: &Value) -> Self {
        let status = &set["status"];
        let (present, available) = (count(&status["replicas"], 0), count(&status["availableReplicas"], 0));
        Self { wanted: count(&set["spec"]["replicas"], 1), present, available }
    }
}

impl Rollout {
    pub(crate) fn of(spec: &Value) -> Self {
        let (replicas, strategy) = (count(&spec["replicas"], 1), &spec["strategy"]);
        let limit =
            |name: &str, rounded: fn(usize, usize) -> usize| share(&strategy["rollingUpdate"][name], replicas, rounded);
        let strategy = match strategy["type"].as_str() {
            Some("Recreate") => Strategy::Recreate,
            _ => match (limit("maxSurge", usize::div_ceil), limit("maxUnavailable", |all, part| all / part)) {
                (0, 0) => Strategy::Rolling { surge: 0, unavailable: 1 },
                (surge, unavailable) => Strategy::Rolling { surge, unavailable },
            },
        };
        Self { replicas, strategy }
    }

    /// So many pods are available at the least.
    pub(crate) fn min_available(&self) -> usize {
        match self.strategy {
            Strategy::Recreate => self.replicas,
            Strategy::Rolling { unavailable, .. } => self.replicas.saturating_sub(unavailable),
        }
    }

    /// The next size of the new ReplicaSet, and of the old ones, oldest first. There is none of the new one before the old
    /// pods of a `Recreate` are gone.
    pub(crate) fn next(&self, new: Option<Size>, old: &[Size]) -> (Option<usize>, Vec<usize>) {
        let Strategy::Rolling { surge, .. } = self.strategy else {
            let are_gone = old.iter().all(|set| set.present == 0);
            return (are_gone.then_some(self.replicas), vec![0; old.len()]);
        };
        let (new, mut old) = (new.unwrap_or_default(), old.to_vec());
        let total = new.wanted + old.iter().map(|set| set.wanted).sum::<usize>();
        let grown = new.wanted + (self.replicas + surge).saturating_sub(total);
        let size = self.replicas.min(grown);
        self.shrink(Size { wanted: size, ..new }, &mut old);
        (Some(size), old.into_iter().map(|set| set.wanted).collect())
    }

    /// Takes replicas from the old ReplicaSets: those that are not available first.
    fn shrink(&self, new: Size, old: &mut [Size]) {
        let total = new.wanted + old.iter().map(|set| set.wanted).sum::<usize>();
        let not_yet = new.wanted.saturating_sub(new.available);
        let mut room = total.saturating_sub(self.min_available() + not_yet);
        for set in &mut *old {
            let cut = room.min(set.wanted.saturating_sub(set.available));
            (set.wanted, room) = (set.wanted - cut, room - cut);
        }
        let available = new.available + old.iter().map(|set| set.available).sum::<usize>();
        let mut room = room.min(available.saturating_sub(self.min_available()));
        for set in old {
            let cut = room.min(set.wanted);
            (set.wanted, room) = (set.wanted - cut, room - cut);
        }
    }
}

/// A number, or a percentage of the replicas; 25 % by default.
fn share(value: &Value, replicas: usize, rounded: fn(usize, usize) -> usize) -> usize {
    let percent = value.as_str().and_then(|text| text.trim_end_matches('%').parse::<usize>().ok()).unwrap_or(25);
    count(value, rounded(replicas.saturating_mul(percent), 100))
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn set(wanted: usize, available: usize) -> Size {
        Size { wanted, present: wanted, available }
    }

    #[test]
    fn limits_are_numbers_or_percentages() {
        let of =
            |limits: Value| Rollout::of(&json!({ "replicas": 10, "strategy": { "rollingUpdate": limits } })).strategy;
        let rolling = |surge, unavailable| Strategy::Rolling { surge, unavailable };
        assert_eq!(of(json!(null)), rolling(3, 2));
        assert_eq!(of(json!({ "maxSurge": 1, "maxUnavailable": "41%" })), rolling(1, 4));
        assert_eq!(of(json!({ "maxSurge": 0, "maxUnavailable": "0%" })), rolling(0, 1));
    }

    #[test]
    fn a_rollout_keeps_to_its_limits() {
        let rollout = Rollout::of(&json!({ "replicas": 4 }));
        assert_eq!(rollout.next(None, &[]), (Some(4), vec![]));
        assert_eq!(rollout.next(None, &[set(4, 4)]), (Some(1), vec![3]));
        assert_eq!(rollout.next(Some(set(1, 0)), &[set(3, 4)]), (Some(2), vec![3]));
        assert_eq!(rollout.next(Some(set(2, 1)), &[set(3, 3)]), (Some(2), vec![2]));
        assert_eq!(rollout.next(Some(set(4, 4)), &[set(1, 1)]), (Some(4), vec![0]));
        assert_eq!(rollout.next(Some(set(9, 9)), &[]), (Some(4), vec![]));
    }

    #[test]
    fn replicas_that_are_not_available_go_first() {
        let rollout = Rollout::of(&json!({ "replicas": 4 }));
        assert_eq!(rollout.next(Some(set(1, 0)), &[set(2, 2), set(3, 1)]), (Some(1), vec![2, 1]));
    }

    #[test]
    fn a_recreate_waits_for_the_old_pods() {
        let rollout = Rollout::of(&json!({ "replicas": 2, "strategy": { "type": "Recreate" } }));
        assert_eq!(rollout.next(None, &[set(2, 2)]), (None, vec![0]));
        assert_eq!(rollout.next(None, &[Size::default()]), (Some(2), vec![0]));
    }
}
