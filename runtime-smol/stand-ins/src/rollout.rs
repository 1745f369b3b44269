//! How large the ReplicaSets of a Deployment are to be, as Kubernetes' deployment controller decides it.

use crate::object::count;
use core::time::Duration;
use serde_json::Value;

/// What a Deployment wants.
pub(crate) struct Rollout {
    pub(crate) replicas: usize,
    /// So many pods there may be beside them, and so many may be unavailable, meanwhile. None for a `Recreate`: the old
    /// pods are gone before there are new ones.
    limits: Option<(usize, usize)>,
    /// Within this time, it makes some progress.
    pub(crate) deadline: Duration,
}

/// The size of a ReplicaSet: how many pods it is to have, has, and has available.
pub(crate) type Size = [usize; 3];

pub(crate) fn size_of(set: &Value) -> Size {
    let status = &set["status"];
    [count(&set["spec"]["replicas"], 1), count(&status["replicas"], 0), count(&status["availableReplicas"], 0)]
}

impl Rollout {
    pub(crate) fn of(spec: &Value) -> Self {
        let (replicas, strategy) = (count(&spec["replicas"], 1), &spec["strategy"]);
        let surge = share(&strategy["rollingUpdate"]["maxSurge"], replicas, usize::div_ceil);
        let unavailable = share(&strategy["rollingUpdate"]["maxUnavailable"], replicas, |all, part| all / part);
        // Without any room, nothing would move.
        let limits = (surge, unavailable.max(usize::from(surge == 0)));
        let deadline = Duration::from_secs(spec["progressDeadlineSeconds"].as_u64().unwrap_or(600));
        Self { replicas, deadline, limits: (strategy["type"] != "Recreate").then_some(limits) }
    }

    /// So many pods are available at the least.
    pub(crate) fn min_available(&self) -> usize {
        self.replicas.saturating_sub(self.limits.map_or(0, |(_, unavailable)| unavailable))
    }

    /// The next size of the new ReplicaSet, and of the old ones, oldest first. There is none of the new one before the old
    /// pods of a `Recreate` are gone.
    pub(crate) fn next(&self, new: Option<Size>, old: &[Size]) -> (Option<usize>, Vec<usize>) {
        let Some((surge, _)) = self.limits else {
            let are_gone = old.iter().all(|[_, present, _]| *present == 0);
            return (are_gone.then_some(self.replicas), vec![0; old.len()]);
        };
        let [new, _, ready] = new.unwrap_or_default();
        let (mut sizes, least): (Vec<usize>, _) = (old.iter().map(|set| set[0]).collect(), self.min_available());
        let olds = sizes.iter().sum::<usize>();
        let size = self.replicas.min(new + (self.replicas + surge).saturating_sub(new + olds));
        let mut room = (size + olds).saturating_sub(least + size.saturating_sub(ready));
        // Those that are not available go first.
        for (size, [wanted, _, available]) in sizes.iter_mut().zip(old) {
            let cut = room.min(wanted.saturating_sub(*available));
            (*size, room) = (*size - cut, room - cut);
        }
        room = room.min((ready + old.iter().map(|set| set[2]).sum::<usize>()).saturating_sub(least));
        for size in &mut sizes {
            let cut = room.min(*size);
            (*size, room) = (*size - cut, room - cut);
        }
        (Some(size), sizes)
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
        [wanted, wanted, available]
    }

    #[test]
    fn limits_are_numbers_or_percentages() {
        let of =
            |limits: Value| Rollout::of(&json!({ "replicas": 10, "strategy": { "rollingUpdate": limits } })).limits;
        assert_eq!(of(json!(null)), Some((3, 2)));
        assert_eq!(of(json!({ "maxSurge": 1, "maxUnavailable": "41%" })), Some((1, 4)));
        assert_eq!(of(json!({ "maxSurge": 0, "maxUnavailable": "0%" })), Some((0, 1)));
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
        assert_eq!(rollout.next(None, &[[0; 3]]), (Some(2), vec![0]));
    }
}
