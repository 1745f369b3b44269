use super::leadership::Leadership;
use core::time::Duration;
use listwatch_core::election::FencingToken;

/// How a candidate stands in its election, as [`Leadership::status`] read it.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct ElectionStatus {
    /// The namespace and the name of the lease.
    pub lease: String,
    /// The name of this candidate in the lease.
    pub identity: String,
    /// The holder that was seen last. The text comes from the server.
    pub leader: Option<String>,
    /// The token of the term, if a write may be sent now.
    pub token: Option<FencingToken>,
    /// For how long writes may be sent, unless a renewal follows; zero without a term.
    pub remaining: Duration,
    /// The candidacy is over for good: it was stopped, or nothing drives it any more.
    pub has_ended: bool,
}

impl ElectionStatus {
    /// Whether this candidate may write now (`IsLeader` of client-go).
    #[must_use]
    pub fn is_leading(&self) -> bool {
        self.token.is_some()
    }
}

impl Leadership {
    /// How this candidate stands, as of one moment.
    #[must_use]
    pub fn status(&self) -> ElectionStatus {
        let (now, machine) = (self.clock().now(), self.lock());
        let (elector, has_ended) = (&machine.elector, machine.has_ended());
        ElectionStatus {
            lease: self.lease().to_owned(),
            identity: self.identity().to_owned(),
            leader: elector.leader().map(str::to_owned),
            token: elector.token(now).filter(|_| !has_ended).cloned(),
            remaining: elector
                .term_end()
                .filter(|_| !has_ended)
                .map_or(Duration::ZERO, |end| end.saturating_since(now)),
            has_ended,
        }
    }
}
