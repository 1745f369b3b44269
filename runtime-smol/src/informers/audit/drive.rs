use super::failure::AuditFailure;
use crate::caught::caught_call;
use crate::client::{Client, Unanswered};
use crate::clock::Clock;
use core::time::Duration;
use listwatch_core::Resource;
use listwatch_core::audit::{Audit, AuditConfig, AuditReport, Replica};

/// The time between two pages, so that an audit of a large store is no burst of requests.
const PAUSE: Duration = Duration::from_millis(100);

/// Runs an audit to its end.
pub(super) async fn drive(
    client: &Client,
    clock: &Clock,
    resource: &Resource,
    replica: &(dyn Replica + Send + Sync),
    config: AuditConfig,
) -> Result<AuditReport, AuditFailure> {
    let mut audit = Audit::new(resource.clone(), config);
    let mut pause = Duration::ZERO;
    loop {
        if let Some(result) = audit.poll_result() {
            return result.map_err(AuditFailure::NotRead);
        }
        if let Some(request) = audit.poll_request() {
            clock.sleep(pause).await;
            pause = PAUSE;
            let answer = match client.read(&request.unrecorded()).await {
                Err(Unanswered::Panicked(message)) => return Err(AuditFailure::Panicked(message.into())),
                Err(Unanswered::Failed(error)) => Err(error),
                Ok(answer) => Ok(answer),
            };
            unpanicking(|| audit.handle_answer(clock.now(), replica, answer))?;
        } else if let Some(at) = audit.poll_timeout() {
            clock.sleep_until(at).await;
            unpanicking(|| audit.handle_timeout(clock.now(), replica))?;
        }
    }
}

/// The audit may be the last to let go of objects, whose drop is the program's code.
fn unpanicking(act: impl FnOnce()) -> Result<(), AuditFailure> {
    caught_call(act).map_err(|message| AuditFailure::Panicked(message.into()))
}
