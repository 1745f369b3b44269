//! A `Lease` as JSON: what an election reads of it, and what it writes into it. All else is kept.

use crate::object::{Version, compare_versions};
use crate::time::{Instant, MicroTime, WallTime};
use alloc::collections::VecDeque;
use alloc::string::{String, ToString};
use core::cmp::Ordering;
use core::time::Duration;
use serde_json::{Map, Value, json};

/// The record of an election: the part of `spec` that decides.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Record {
    pub(crate) holder: Option<String>,
    /// Absent if the field is, or if it is not a positive number.
    pub(crate) duration: Option<Duration>,
    pub(crate) acquired: Option<WallTime>,
    pub(crate) renewed: Option<WallTime>,
    pub(crate) transitions: u32,
}

impl Record {
    /// Reads a lease. A field of another type counts as absent.
    pub(super) fn read(lease: &Value) -> Self {
        let spec = &lease["spec"];
        let text = |name: &str| spec[name].as_str().filter(|text| !text.is_empty());
        let number = |name: &str| spec[name].as_u64().filter(|number| *number > 0);
        let time = |name: &str| text(name).and_then(|text| text.parse().ok());
        Self {
            holder: text("holderIdentity").map(String::from),
            duration: number("leaseDurationSeconds").map(|seconds| Duration::from_secs(seconds.min(MAX_INT32))),
            acquired: time("acquireTime"),
            renewed: time("renewTime"),
            transitions: number("leaseTransitions").map_or(0, |number| number.min(MAX_INT32) as u32),
        }
    }

    /// Writes the record into a lease.
    pub(crate) fn write(&self, lease: &mut Value) {
        let spec = object(field(lease, "spec"));
        let time = |time: Option<WallTime>| time.map(|time| MicroTime(time).to_string());
        spec.insert("holderIdentity".into(), json!(self.holder.as_deref().unwrap_or_default()));
        spec.insert("leaseDurationSeconds".into(), json!(self.duration.map(|duration| duration.as_secs())));
        spec.insert("acquireTime".into(), json!(time(self.acquired)));
        spec.insert("renewTime".into(), json!(time(self.renewed)));
        spec.insert("leaseTransitions".into(), json!(self.transitions));
    }
}

/// Both numbers are an `int32`.
pub(super) const MAX_INT32: u64 = i32::MAX as u64;

/// A lease that does not exist yet.
pub(crate) fn created(namespace: &str, name: &str) -> Value {
    json!({
        "apiVersion": "coordination.k8s.io/v1",
        "kind": "Lease",
        "metadata": { "namespace": namespace, "name": name },
    })
}

/// Gives a lease the configured labels; it keeps the others.
pub(crate) fn label(lease: &mut Value, ours: &[(String, String)]) {
    if ours.is_empty() {
        return;
    }
    let labels = object(field(field(lease, "metadata"), "labels"));
    for (name, value) in ours {
        labels.insert(name.clone(), json!(value));
    }
}

/// The resource version of a lease. Without one, a write would not notice another candidate's.
pub(super) fn version(lease: &Value) -> Option<Version> {
    lease["metadata"]["resourceVersion"].as_str().filter(|text| !text.is_empty()).and_then(Version::copied)
}

/// A field of an object.
pub(crate) fn field<'a>(value: &'a mut Value, name: &str) -> &'a mut Value {
    object(value).entry(name).or_insert(Value::Null)
}

/// The fields of a value. Anything else than an object becomes an empty one.
pub(crate) fn object(value: &mut Value) -> &mut Map<String, Value> {
    if !value.is_object() {
        *value = Value::Object(Map::new());
    }
    value.as_object_mut().unwrap_or_else(|| unreachable!("it is an object now"))
}

/// A lease that was read, written or watched.
#[derive(Debug)]
pub(crate) struct Known {
    pub(crate) lease: Value,
    pub(crate) record: Record,
    pub(crate) version: Version,
    /// When the record was first seen. The times in it are those of other clocks, and count nowhere.
    since: Instant,
    /// When it was seen last.
    seen: Instant,
}

impl Known {
    /// A lease that is seen now; `None` if it has no version.
    pub(crate) fn new(lease: Value, now: Instant) -> Option<Self> {
        Some(Self { record: Record::read(&lease), version: version(&lease)?, lease, since: now, seen: now })
    }

    /// Takes over what was known before: an unchanged record is as old as it was.
    pub(crate) fn after(self, before: Option<&Self>) -> Self {
        let same = before.filter(|before| before.lease["spec"] == self.lease["spec"]);
        Self { since: same.map_or(self.since, |before| before.since), ..self }
    }

    /// Whether this is an earlier state than `other`. The answer to a request that was sent at `asked` is not, unless `other`
    /// came later: a server that was restored from a backup goes back in its versions.
    pub(crate) fn is_before(&self, other: &Self, asked: Option<Instant>) -> bool {
        let is_less = compare_versions(&self.version, &other.version) == Ok(Ordering::Less);
        is_less && asked.is_none_or(|asked| other.seen > asked)
    }

    /// When the record was first seen.
    #[cfg(feature = "shards")]
    pub(crate) fn since(&self) -> Instant {
        self.since
    }

    /// When the others may take the lease. `default` stands for a duration that the record lacks.
    pub(crate) fn expiry(&self, default: Duration) -> Instant {
        self.since + self.record.duration.unwrap_or(default)
    }
}

/// When writes were sent, by the `renewTime` in them.
#[derive(Debug, Default)]
pub(super) struct Sent {
    writes: VecDeque<(WallTime, Instant)>,
    last: Option<WallTime>,
}

/// A wall clock that shows a later time is wrong, and leaves no later ones.
const LATEST: WallTime = WallTime::from_unix_seconds(WallTime::MAX.as_unix_seconds() - 86_400);

impl Sent {
    /// Notes a write. No two have one `renewTime`, whatever the wall clock says.
    pub(super) fn note(&mut self, at: Instant, wall: WallTime) -> WallTime {
        let wall = wall.min(LATEST);
        let next = self.last.map(|last| last + Duration::from_micros(1));
        let time = next.map_or(wall, |next| wall.max(next));
        self.last = Some(time);
        self.writes.push_back((time, at));
        time
    }

    /// Forgets the last write, which the server has refused: a lease with its `renewTime` is another candidate's.
    pub(super) fn take_back(&mut self) {
        self.writes.pop_back();
    }

    /// Forgets the writes that were sent before `oldest`, but for the one with this `renewTime`.
    pub(super) fn forget(&mut self, oldest: Instant, but: Option<WallTime>) {
        self.writes.retain(|(time, at)| *at >= oldest || Some(*time) == but);
    }

    /// When the write with this `renewTime` was sent.
    pub(super) fn at(&self, renewed: Option<WallTime>) -> Option<Instant> {
        self.writes.iter().find(|(time, _)| Some(*time) == renewed).map(|(_, at)| *at)
    }

    /// Whether there never was a write.
    pub(super) fn is_empty(&self) -> bool {
        self.last.is_none()
    }
}
