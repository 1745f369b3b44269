//! Limits the writes about one object (client-go `tools/record`, `EventSourceObjectSpamFilter`).

use super::occurrence::{EventType, Key};
use super::recent::Recent;
use super::reference::ObjectReference;
use crate::time::Instant;
use core::time::Duration;

/// A bucket of tokens for each object and type. A full one is forgotten, as one that was never used is full. If there are
/// too many, the one that was used least recently gives way, and is full again later.
#[derive(Debug)]
pub(super) struct SpamFilter {
    /// When a bucket is full again.
    full: Recent<(ObjectReference, EventType), Instant>,
    /// How long a full bucket takes to refill without its last token.
    slack: Duration,
    refill: Duration,
    most: usize,
}

impl SpamFilter {
    pub(super) fn new(burst: u32, refill: Duration, most: usize) -> Self {
        Self { full: Recent::default(), slack: refill.saturating_mul(burst - 1), refill, most }
    }

    /// Takes a token of the object.
    ///
    /// # Errors
    /// If there is none: the time of the next one.
    pub(super) fn try_take(&mut self, now: Instant, key: &Key) -> Result<(), Instant> {
        let bucket = (key.regarding.whole(), key.r#type);
        let known = self.full.touch(&bucket).copied();
        let full = known.map_or(now, |full| now.max(full));
        let missing = full.saturating_since(now);
        if missing > self.slack {
            return Err(now + (missing - self.slack));
        }
        while let Some((oldest, full)) = self.full.oldest()
            && (*full <= now || known.is_none() && self.full.len() >= self.most)
        {
            let oldest = oldest.clone();
            self.full.remove(&oldest);
        }
        self.full.insert(bucket, full + self.refill);
        Ok(())
    }
}
