//! The kind of world that a seed makes.

use super::dice::Dice;
use super::object::Health;
use super::refusal::TooLarge;
use super::server::{ServerConfig, WatchLists};
use listwatch_core::fifo::Order;
use listwatch_core::reflector::Consistency;
use listwatch_core::{InformerConfig, Resource};
use std::time::Duration;

/// How server and client of a run are set up.
#[derive(Clone, Debug)]
pub(super) struct Setup {
    /// The server.
    pub(super) server: ServerConfig,
    /// The client.
    pub(super) informer: InformerConfig,
    /// What it follows.
    pub(super) resource: Resource,
    /// The store goes back to a backup once.
    pub(super) restored: bool,
    /// What becomes of objects, the first for most of them.
    pub(super) health: [Health; 2],
    /// Up to how long it is between two changes.
    pub(super) calm: Duration,
}

impl Setup {
    /// Throws for everything.
    pub(super) fn draw(dice: &mut Dice) -> Self {
        Self {
            server: server(dice),
            informer: informer(dice),
            resource: resource(dice),
            restored: dice.chance(8),
            health: match dice.below(100) {
                0..6 => [Health::Good, Health::Unreadable],
                6..9 => [Health::Good, Health::Huge],
                9..50 => [Health::Good, Health::Bad],
                _ => [Health::Good; 2],
            },
            calm: Duration::from_secs(dice.pick(&[3, 20, 60])),
        }
    }
}

fn server(dice: &mut Dice) -> ServerConfig {
    ServerConfig {
        keys: dice.pick(&[3, 6, 12, 20]),
        replicas: dice.pick(&[1, 2, 3]),
        watch_lists: match dice.below(10) {
            0 => WatchLists::Refused,
            1 => WatchLists::Endless,
            _ => WatchLists::Served,
        },
        initial: Duration::from_millis(dice.pick(&[0, 100, 8_000])),
        early_bookmarks: dice.chance(30),
        keeps_time: true,
        refuses_watches: dice.chance(50),
        waits_for_versions: dice.chance(50),
        too_large: dice.pick(&[TooLarge::CauseType, TooLarge::CauseMessage, TooLarge::Message]),
        says_kinds: false,
    }
}

fn informer(dice: &mut Dice) -> InformerConfig {
    let mut config = InformerConfig::default();
    config.order = dice.pick(&[Order::Arrival, Order::Arrival, Order::ByKey]);
    config.queue_limit = dice.pick(&[1, 3, 10, 10_000]);
    config.decode.frame_limit = dice.pick(&[1 << 10, 8 << 20]);
    let reflector = &mut config.reflector;
    reflector.consistency = dice.pick(&[Consistency::Any, Consistency::NotOlderThan, Consistency::MostRecent]);
    reflector.watch_list = dice.chance(50);
    reflector.page_size = dice.pick(&[None, Some(1), Some(2), Some(5), Some(500)]);
    reflector.max_pages = 60;
    let seconds = |least, most| Some((Duration::from_secs(least), Duration::from_secs(most)));
    reflector.watch_timeout = dice.pick(&[seconds(5, 10), seconds(60, 120), seconds(300, 600)]);
    reflector.answer_timeout = dice.pick(&[Some(Duration::from_secs(10)), Some(Duration::from_secs(60))]);
    reflector.seed = Some(dice.throw());
    config
}

fn resource(dice: &mut Dice) -> Resource {
    let resource = Resource::new("/api/v1/pods");
    let resource = match dice.below(6) {
        0 => resource.with_label_selector("app in (a,b)"),
        1 => resource.with_field_selector("spec.nodeName!=n1"),
        2 => resource.with_label_selector("app!=c").with_field_selector("metadata.namespace=ns-0"),
        _ => resource,
    };
    if dice.chance(20) { resource.metadata_only() } else { resource }
}
