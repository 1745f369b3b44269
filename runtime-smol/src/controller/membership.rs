//! What a member of shards tells its controller.

use super::owners::OwnKind;
use super::report::Report;
use super::sharded::Member;
use super::state::ControllerState;
use crate::election::Leadership;
use crate::informers::Selection;
use crate::shards::{ShardReport, Told};
use listwatch_core::Key;
use listwatch_core::controller::{Cause, CauseKind};
use std::sync::{Arc, Weak};

/// Follows the map until it is dropped.
pub(super) async fn follow(member: Member, state: Weak<ControllerState>, leadership: Leadership) {
    member.run(leadership, Hearer(state)).await;
}

/// The controller of a member.
struct Hearer(Weak<ControllerState>);

impl Hearer {
    fn own(&self) -> Option<Arc<OwnKind>> {
        self.0.upgrade()?.own.upgrade()
    }
}

impl Told for Hearer {
    fn gained(&self, shards: Vec<u16>) {
        let Some(state) = self.0.upgrade() else { return };
        let all = Arc::clone(&state);
        state.spawn_detached(async move {
            let (Some(own), Some(sharded)) = (all.own.upgrade(), &all.shards) else { return };
            let is_gained =
                |key: &Key| sharded.shard_of(Some(&own), key).is_some_and(|shard| shards.binary_search(&shard).is_ok());
            let keys = own.keys().into_iter().filter(is_gained).collect();
            let cause = Cause { source: "shards".into(), kind: CauseKind::Resync, object: None, version: None };
            all.add_all(keys, cause).await;
        });
    }

    fn select(&self, selection: &Selection) {
        self.own().iter().for_each(|own| _ = own.select(selection));
    }

    fn selected(&self) -> u64 {
        self.own().map_or(0, |own| own.selected())
    }

    fn report(&self, report: &ShardReport<'_>) {
        if let Some(state) = self.0.upgrade() {
            state.report(&Report::Shards { report });
        }
    }
}
