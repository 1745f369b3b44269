#[cfg(feature = "json")]
use crate::decode::DecodeOptions;
use crate::fifo::Order;
use crate::reflector::ReflectorConfig;

/// The configuration of an [`Informer`](crate::Informer).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct InformerConfig {
    /// Lists, watches, deadlines and retries.
    pub reflector: ReflectorConfig,
    /// The order of events.
    pub order: Order,
    /// The options of the [`Json`](crate::decode::Json) decoder. An informer
    /// [with another decoder](super::InformerIn::with_decoder) ignores them.
    #[cfg(feature = "json")]
    pub decode: DecodeOptions,
    /// How many deltas may be queued before back-pressure applies: 10,000 by default. A list may have more items, as
    /// far as [`max_list_bytes`](Self::max_list_bytes) allows.
    pub queue_limit: usize,
    /// How many bytes a list, or the initial events of a watch-list, may have before it is rejected as too large. All
    /// bytes received count, and 512 bytes for the bookkeeping of each item. The cache keeps its state then, and no
    /// deletion is inferred. The default of 2 GiB is etcd's default quota for all data of a cluster.
    pub max_list_bytes: usize,
    /// How many bytes the objects of queued deltas may take before back-pressure applies: 64 MiB by default. The JSON
    /// that they were decoded from counts ([`Meta::json_len`](crate::Meta::json_len)). The last object may
    /// exceed the limit, so that an object larger than the limit passes too.
    pub queue_bytes: usize,
}

impl Default for InformerConfig {
    fn default() -> Self {
        Self {
            reflector: ReflectorConfig::default(),
            order: Order::Arrival,
            #[cfg(feature = "json")]
            decode: DecodeOptions::default(),
            queue_limit: 10_000,
            max_list_bytes: 2 << 30,
            queue_bytes: 64 << 20,
        }
    }
}

/// The limits of an [`InformerConfig`].
#[derive(Clone, Copy)]
pub(super) struct Limits {
    /// Of the queue.
    pub(super) deltas: usize,
    pub(super) bytes: usize,
    /// Of a list.
    pub(super) list_bytes: usize,
}

impl InformerConfig {
    pub(super) fn limits(&self) -> Limits {
        Limits { deltas: self.queue_limit.max(1), bytes: self.queue_bytes.max(1), list_bytes: self.max_list_bytes }
    }
}
