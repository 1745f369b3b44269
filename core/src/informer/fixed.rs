//! The informer of a device without a heap, by one name.

use super::{InformerConfig, InformerIn};
use crate::cache::FixedIndexer;
use crate::decode::ProjectedJson;
use crate::projection::Projection;
use crate::request::Resource;
use crate::storage::Fixed;

/// An [informer](InformerIn) that allocates nothing: it keeps the fields of a [projection](crate::projection!) for `OBJECTS`
/// objects.
///
/// | parameter | counts |
/// |---|---|
/// | `OBJECTS` | objects in the cache |
/// | `QUEUE` | queued changes; a longer list passes in parts |
/// | `KEY` | the bytes of `namespace/name` |
/// | `ROOM` | the bytes of an answer that are read at once; an object may be larger |
///
/// ```
/// use listwatch_core::informer::{EventOf, FixedInformer};
/// use listwatch_core::projection::Text;
/// use listwatch_core::reflector::Action;
/// use listwatch_core::request::RequestId;
/// use listwatch_core::transport::{Incoming, ResponseHead};
/// use listwatch_core::{InformerConfig, Instant, Resource, projection};
///
/// // The fields to keep of each pod.
/// projection! {
///     struct Pod { node: Text<32> = "spec.nodeName", ready: Text<7> = "status.conditions[type=Ready].status" }
/// }
///
/// // 128 pods, with a queue of 16 changes.
/// type Pods = FixedInformer<Pod, 128, 16>;
///
/// const PODS: Resource = Resource::constant("/api/v1/pods", "", "");
/// let mut pods = Pods::fixed(PODS, InformerConfig::default());
/// pods.start(Instant::ZERO);
///
/// // This server answers one request, in pieces of 100 bytes. Firmware reads a connection here.
/// # let item = r#"{"metadata":{"namespace":"a","name":"web","resourceVersion":"5"},"spec":{"nodeName":"n1"}}"#;
/// # let end = r#"{"metadata":{"resourceVersion":"7","annotations":{"k8s.io/initial-events-end":"true"}}}"#;
/// # let answer = format!("{{\"type\":\"ADDED\",\"object\":{item}}}\n{{\"type\":\"BOOKMARK\",\"object\":{end}}}\n");
/// let mut pieces = answer.as_bytes().chunks(100);
/// let (mut now, mut open, mut told) = (Instant::ZERO, None::<RequestId>, 0);
/// loop {
///     while let Some(action) = pods.poll_action() {
///         if let Action::Open(id, request) = action {
///             assert!(request.to_string().starts_with("/api/v1/pods?watch=1"));
///             open = Some(id);
///             pods.handle(now, Incoming::Head { id, head: ResponseHead { status: 200, ..ResponseHead::default() } });
///         }
///     }
///     let (Some(id), Some(piece)) = (open, pieces.next()) else { break };
///     pods.space()[..piece.len()].copy_from_slice(piece);
///     pods.handle(now, Incoming::Data { id, len: piece.len() });
///     while let Some(event) = pods.poll_event() {
///         match event {
///             EventOf::Added { object, .. } => assert_eq!((object.key(), object.value.node.as_str()), ("a/web", "n1")),
///             EventOf::Failed(report) => println!("{report}"),
///             _ => {}
///         }
///         told += 1;
///     }
///     // Time is an argument: a device passes that of its timer, and wakes at `pods.poll_timeout()`.
///     now = now + core::time::Duration::from_millis(1);
///     pods.handle_timeout(now);
/// }
/// assert_eq!((told, pods.cache().len(), pods.wanted()), (2, 1, None));
/// ```
pub type FixedInformer<
    P,
    const OBJECTS: usize,
    const QUEUE: usize = 16,
    const KEY: usize = 128,
    const ROOM: usize = 2048,
> = InformerIn<ProjectedJson<P, KEY, ROOM>, FixedIndexer<crate::projection::Projected<P, KEY>, OBJECTS>, Fixed<QUEUE>>;

impl<P: Projection, const OBJECTS: usize, const QUEUE: usize, const KEY: usize, const ROOM: usize>
    FixedInformer<P, OBJECTS, QUEUE, KEY, ROOM>
{
    /// An informer of `resource` that has not begun. Its hashes and its jitter follow from the configuration's seed.
    pub fn fixed(resource: Resource, config: InformerConfig) -> Self {
        Self::with_decoder(resource, config, ProjectedJson::new(), FixedIndexer::new())
    }
}
