use super::stream_audit::StreamAudit;
use super::target::Target;
use crate::client::Client;
use crate::clock::Clock;
use core::fmt;
use core::future::poll_fn;
use core::task::Poll;
use listwatch_core::Instant;
use listwatch_core::audit::{AuditConfig, AuditSchedule};
use smol::future::or;
use std::sync::Arc;

/// The audits of an informer by a schedule. [`InformerHandle::audit_every`](crate::InformerHandle::audit_every) returns
/// it.
///
/// It audits while [`next`](Self::next) is awaited, one stream after the other, and ends with its drop. It does not keep
/// the informer running.
#[must_use = "a schedule audits nothing unless `next` is awaited"]
pub struct Audits {
    targets: Vec<Target>,
    clock: Clock,
    schedule: AuditSchedule,
    config: AuditConfig,
    /// When the next round begins, or has begun.
    begins: Instant,
    /// How many streams of the round were audited.
    done: usize,
}

impl Audits {
    pub(crate) fn new(targets: Vec<Target>, clock: Clock, mut schedule: AuditSchedule, config: AuditConfig) -> Self {
        let begins = schedule.next(clock.now());
        Self { targets, clock, schedule, config, begins, done: 0 }
    }

    /// The same within other limits.
    pub fn with_config(self, config: AuditConfig) -> Self {
        Self { config, ..self }
    }

    /// The same, compared with the lists of another API server of the same cluster: the watch cache of the informer's own
    /// may be what has lost an event.
    pub fn against(mut self, server: &Client) -> Self {
        self.targets = self.targets.into_iter().map(|target| target.against(server)).collect();
        self
    }

    /// The next audit of a stream; `None` once the informer has ended.
    ///
    /// If the future is dropped before it is ready, the next one audits the same stream, from the beginning.
    pub async fn next(&mut self) -> Option<Arc<StreamAudit>> {
        let (_place, audit) = self.next_placed().await?;
        Some(audit)
    }

    /// The same with the stream's place in a round. Streams of one name may have several.
    pub(crate) async fn next_placed(&mut self) -> Option<(usize, Arc<StreamAudit>)> {
        loop {
            let begun = async {
                self.clock.sleep_until(self.begins).await;
                true
            };
            if !or(begun, all_stopped(&self.targets)).await {
                return None;
            }
            while let Some(target) = self.targets.get(self.done) {
                let audit = if target.is_stopped() { None } else { Some(target.audit(self.config).await) };
                let place = self.done;
                self.done += 1;
                if let Some(audit) = audit.filter(|_| !target.is_stopped()) {
                    return Some((place, audit));
                }
            }
            (self.begins, self.done) = (self.schedule.next(self.clock.now()), 0);
        }
    }
}

/// Waits until each of them has. Returns false.
async fn all_stopped(targets: &[Target]) -> bool {
    let mut stopped: Vec<_> = targets.iter().map(|target| Box::pin(target.stopped())).collect();
    poll_fn(|cx| {
        stopped.retain_mut(|stopped| stopped.as_mut().poll(cx).is_pending());
        if stopped.is_empty() { Poll::Ready(false) } else { Poll::Pending }
    })
    .await
}

impl fmt::Debug for Audits {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Audits").field("schedule", &self.schedule).finish_non_exhaustive()
    }
}
