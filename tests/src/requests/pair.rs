//! Two servers that get the same requests.

use super::Request;
use super::difference::{Difference, differences};
use super::draw::NAMES;
use super::side::{Answered, GENERATED, Side};
use listwatch_core::api::ApiClient;
use listwatch_core::transport::TransportError;
use serde_json::json;
use std::collections::BTreeSet;

/// A server, and what simulates it.
#[derive(Debug)]
pub struct Pair<'c, A: ?Sized, B: ?Sized> {
    /// The server.
    pub server: Side<'c, A>,
    /// What simulates it.
    pub simulated: Side<'c, B>,
}

impl<A: ?Sized, B: ?Sized> Clone for Pair<'_, A, B> {
    fn clone(&self) -> Self {
        Self { server: self.server.clone(), simulated: self.simulated.clone() }
    }
}

/// Both answers to a request.
#[derive(Clone, Debug)]
pub struct Compared {
    /// That of the server.
    pub server: Answered,
    /// That of the simulated cluster.
    pub simulated: Answered,
    /// Where they differ.
    pub differences: Vec<Difference>,
}

impl<'c, A: ApiClient + ?Sized, B: ApiClient + ?Sized> Pair<'c, A, B> {
    /// Two sides that have nothing yet.
    #[must_use]
    pub fn new(server: Side<'c, A>, simulated: Side<'c, B>) -> Self {
        Self { server, simulated }
    }

    /// Sends a request to both, unless it is about an object that is lost.
    ///
    /// # Errors
    /// If one of them does not answer.
    pub fn compare(&mut self, request: &Request) -> Result<Option<Compared>, TransportError> {
        let key = request.key();
        if self.server.has_lost(&key) || self.simulated.has_lost(&key) {
            return Ok(None);
        }
        let (server, simulated) = (self.server.send(request), self.simulated.send(request)?);
        // A server breaks the connection where it panics.
        let broken =
            |error: TransportError| Answered { body: json!({ "message": error.to_string() }), ..Answered::default() };
        let mut server = server.unwrap_or_else(broken);
        let mut found = differences(request.specimen, &server, &simulated);
        // An answer of any version may be late.
        for _ in 0..STALE {
            if found.is_empty() || !request.has("any version") {
                break;
            }
            server = self.server.send(request)?;
            found = differences(request.specimen, &server, &simulated);
        }
        Ok(Some(Compared { server, simulated, differences: found }))
    }

    /// Brings the objects of a request to the same state on both sides: they are gone.
    ///
    /// # Errors
    /// If one of them does not answer.
    pub fn level(&mut self, request: &Request, compared: &Compared) -> Result<(), TransportError> {
        let mut names: BTreeSet<String> = match request.name.as_str() {
            _ if request.has(GENERATED) => BTreeSet::new(),
            "" => NAMES.map(|name| request.specimen.name(name)).into(),
            name => BTreeSet::from([name.to_owned()]),
        };
        // A body may have another name than the path.
        names.extend([compared.server.name.clone(), compared.simulated.name.clone()]);
        for name in names.iter().filter(|name| !name.is_empty()) {
            self.server.wipe(request.specimen, name)?;
            self.simulated.wipe(request.specimen, name)?;
        }
        Ok(())
    }
}

/// How often an answer of any version is asked for.
const STALE: usize = 50;

#[cfg(test)]
mod tests {
    use super::*;
    use crate::answers::definitions;
    use crate::requests::draw::{draw, watches};
    use listwatch_simulated_cluster::SimulatedCluster;

    const GROUP: &str = "wheels.example";

    fn cluster() -> SimulatedCluster {
        let cluster = SimulatedCluster::new();
        definitions(GROUP).into_iter().for_each(|it| _ = cluster.create(it).unwrap());
        cluster
    }

    /// How many of the requests of some seeds succeed, and how many are answered otherwise by the second cluster, to which
    /// something was done before.
    fn asked(before: impl Fn(&SimulatedCluster)) -> (usize, usize) {
        let (mut done, mut differ) = (0, 0);
        for seed in 0..20 {
            let (one, other) = (cluster(), cluster());
            before(&other);
            let mut pair = Pair::new(Side::new(&one, "some", GROUP), Side::new(&other, "some", GROUP));
            for request in draw(seed, 300).iter().chain(&watches(seed)) {
                let Some(compared) = pair.compare(request).unwrap() else { continue };
                done += usize::from(compared.server.code < 300);
                differ += usize::from(!compared.differences.is_empty());
                if request.has(GENERATED) || !compared.differences.is_empty() {
                    pair.level(request, &compared).unwrap();
                }
            }
        }
        (done, differ)
    }

    #[test]
    fn two_clusters_answer_alike_and_about_half_of_the_requests_are_valid() {
        let (done, differ) = asked(|_| {});
        assert_eq!(differ, 0);
        assert!((2_400..3_600).contains(&done), "{done} of 6000");
    }

    #[test]
    fn a_cluster_that_has_something_else_answers_otherwise() {
        let (_, differ) = asked(|cluster| {
            let wheel = json!({ "apiVersion": format!("{GROUP}/v1"), "kind": "Wheel",
                "metadata": { "name": "a", "namespace": "some" } });
            cluster.create(wheel).unwrap();
        });
        assert!(differ > 0);
    }
}
