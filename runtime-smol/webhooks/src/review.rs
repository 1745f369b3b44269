//! Reviews of writes (`admission.k8s.io/v1`): what they ask, and how they are answered.

use super::admission::{About, Admission, Denial, Notes, Operation};
use super::patch::json_patch;
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use listwatch::object::Kind;
use listwatch_core::change::{Change, Part, apply_merge_patch, change};
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};

/// A review that waits for its answer.
pub(crate) struct Review {
    about: About,
    object: Value,
    old_object: Value,
}

/// What becomes of a write.
pub(crate) struct Verdict {
    denial: Option<Denial>,
    patch: Vec<Value>,
    notes: Notes,
}

/// Why a request gets no answer to its review.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Fault {
    /// The request is none that a server sends.
    Malformed(String),
    /// The function, or its type, is wrong.
    Failed(String),
}

/// Asks a function of a review, after the objects were read.
pub(crate) type Ask = dyn Fn(Review) -> Result<Verdict, Fault> + Send + Sync;

const VERSION: &str = "admission.k8s.io/v1";
const KIND: &str = "AdmissionReview";

/// The answer to the review in a body.
pub(crate) fn answer(body: &[u8], ask: &Ask) -> Result<Value, Fault> {
    let mut request = request_of(body, VERSION, KIND)?;
    let [object, old_object] = ["object", "oldObject"].map(|name| request[name].take());
    let about = About::deserialize(request).map_err(|why| malformed(KIND, &why))?;
    let review = Review { about, object, old_object };
    let uid = review.about.uid.clone();
    let response = ask(review)?.response(&uid);
    Ok(json!({ "apiVersion": VERSION, "kind": KIND, "response": response }))
}

/// The request of a review, which has a uid.
pub(crate) fn request_of(body: &[u8], version: &str, kind: &str) -> Result<Value, Fault> {
    #[derive(Deserialize)]
    #[serde(rename_all = "camelCase")]
    struct Envelope {
        api_version: String,
        kind: String,
        request: Value,
    }
    let envelope: Envelope = serde_json::from_slice(body).map_err(|why| malformed(kind, &why))?;
    if envelope.api_version != version || envelope.kind != kind {
        return Err(Fault::Malformed(format!("the body is no {kind} of {version}")));
    }
    if envelope.request["uid"].as_str().unwrap_or_default().is_empty() {
        return Err(Fault::Malformed(format!("the {kind} has no uid")));
    }
    Ok(envelope.request)
}

pub(crate) fn malformed(kind: &str, why: &serde_json::Error) -> Fault {
    Fault::Malformed(format!("the body is no {kind}: {why}"))
}

impl Verdict {
    fn response(self, uid: &str) -> Value {
        let mut response = Map::from_iter([("uid".to_owned(), json!(uid))]);
        let mut add = |name: &str, value: Value| _ = response.insert(name.to_owned(), value);
        add("allowed", json!(self.denial.is_none()));
        if let Some(Denial { code, message }) = self.denial {
            let reason = reason_of(code);
            add("status", json!({ "status": "Failure", "code": code, "reason": reason, "message": message }));
        } else if !self.patch.is_empty() {
            add("patchType", json!("JSONPatch"));
            add("patch", json!(STANDARD.encode(Value::from(self.patch).to_string())));
        }
        let Notes { warnings, annotations } = self.notes;
        if !warnings.is_empty() {
            add("warnings", json!(warnings));
        }
        if !annotations.is_empty() {
            add("auditAnnotations", json!(annotations));
        }
        Value::Object(response)
    }

    fn denied(denial: Denial) -> Self {
        Self { denial: Some(denial), patch: Vec::new(), notes: Notes::default() }
    }
}

/// The reason that Kubernetes gives with a status.
fn reason_of(code: u16) -> &'static str {
    match code {
        400 => "BadRequest",
        403 => "Forbidden",
        409 => "Conflict",
        422 => "Invalid",
        429 => "TooManyRequests",
        500 => "InternalError",
        503 => "ServiceUnavailable",
        504 => "Timeout",
        _ => "",
    }
}

/// Lets a function refuse writes.
pub(crate) fn validating<T: Kind + DeserializeOwned>(
    check: impl Fn(&Admission<T>) -> Result<(), Denial> + Send + Sync + 'static,
) -> Box<Ask> {
    Box::new(move |review| {
        let admission = match review.read::<T>() {
            Ok((admission, _)) => admission,
            Err(denial) => return Ok(Verdict::denied(denial)),
        };
        let denial = check(&admission).err();
        Ok(Verdict { denial, patch: Vec::new(), notes: admission.into_notes() })
    })
}

/// Lets a function change writes, or refuse them.
pub(crate) fn mutating<T: Kind + Serialize + DeserializeOwned>(
    mutate: impl Fn(&mut Admission<T>) -> Result<(), Denial> + Send + Sync + 'static,
) -> Box<Ask> {
    Box::new(move |review| {
        let (mut admission, raw) = match review.read::<T>() {
            Ok(read) => read,
            Err(denial) => return Ok(Verdict::denied(denial)),
        };
        // The type may not be `Clone`. It could be read a moment ago.
        let before = read::<T>(&raw).map_err(Fault::Failed)?;
        let denial = mutate(&mut admission).err();
        let (after, notes) = admission.into_parts();
        let patch = if denial.is_none() { patch_of(&before, &after, &raw)? } else { Vec::new() };
        Ok(Verdict { denial, patch, notes })
    })
}

/// The patch of what a function changed. Fields that the type does not know stay.
fn patch_of<T: Serialize + DeserializeOwned>(before: &T, after: &T, raw: &Value) -> Result<Vec<Value>, Fault> {
    let merge = match change(before, after, Part::Object) {
        Ok(Change::Nothing) => Ok(None),
        Ok(Change::Patch(patch)) => Ok(Some(patch)),
        Ok(Change::NeedsRaw(pending)) => pending.lay_over_as::<T>(raw),
        Err(error) => Err(error),
    };
    let merge = merge.map_err(|error| Fault::Failed(format!("the change cannot be made: {error}")))?;
    let Some(merge) = merge else { return Ok(Vec::new()) };
    let mut changed = raw.clone();
    apply_merge_patch(&mut changed, &merge);
    Ok(json_patch(raw, &changed))
}

impl Review {
    /// The objects of the type, and the raw object. What the type cannot read is refused.
    fn read<T: Kind + DeserializeOwned>(self) -> Result<(Admission<T>, Value), Denial> {
        let Self { about, object, old_object } = self;
        let (object, old) =
            if about.operation == Operation::Delete { (old_object, Value::Null) } else { (object, old_object) };
        let unreadable = |why: String| Denial::new(400, format!("the object cannot be read as {}: {why}", T::KIND));
        let read_object = read(&object).map_err(unreadable)?;
        // Its client may not read it, and an error may quote a value.
        let hidden = |_: String| Denial::new(400, format!("the old object cannot be read as {}", T::KIND));
        let old = if old.is_null() { None } else { Some(read(&old).map_err(hidden)?) };
        Ok((Admission::new(about, read_object, old), object))
    }
}

pub(crate) fn read<T: DeserializeOwned>(value: &Value) -> Result<T, String> {
    T::deserialize(value).map_err(|error| error.to_string())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[derive(Serialize, Deserialize)]
    struct Foo {
        spec: Spec,
    }

    #[derive(Serialize, Deserialize)]
    struct Spec {
        #[serde(skip_serializing_if = "Option::is_none")]
        replicas: Option<u32>,
        #[serde(default)]
        ports: Vec<Port>,
    }

    #[derive(Serialize, Deserialize)]
    struct Port {
        name: String,
        port: u16,
    }

    listwatch::kind!(Foo, "example.com/v1", "foos");

    fn asked(request: Value, ask: &Ask) -> Result<Value, Fault> {
        let review = json!({ "apiVersion": VERSION, "kind": KIND, "request": request });
        answer(review.to_string().as_bytes(), ask).map(|answer| answer["response"].clone())
    }

    fn creation(object: Value) -> Value {
        json!({ "uid": "7", "operation": "CREATE", "object": object, "userInfo": { "username": "ann", "extra": {} } })
    }

    fn patch(response: &Value) -> Value {
        assert_eq!(response["patchType"], "JSONPatch");
        serde_json::from_slice(&STANDARD.decode(response["patch"].as_str().unwrap()).unwrap()).unwrap()
    }

    #[test]
    fn a_refusal_has_the_uid_a_code_and_the_message() {
        let ask = validating::<Foo>(|request| {
            request.warn("careful");
            request.annotate("seen", request.user.name.as_str());
            if request.object.spec.replicas > Some(10) { Err("at most ten replicas".into()) } else { Ok(()) }
        });
        let refused = asked(creation(json!({ "spec": { "replicas": 11 } })), &ask).unwrap();
        let status =
            json!({ "status": "Failure", "code": 403, "reason": "Forbidden", "message": "at most ten replicas" });
        let notes = |mut response: Value| {
            response["warnings"] = json!(["careful"]);
            response["auditAnnotations"] = json!({ "seen": "ann" });
            response
        };
        assert_eq!(refused, notes(json!({ "uid": "7", "allowed": false, "status": status })));
        let allowed = asked(creation(json!({ "spec": {} })), &ask).unwrap();
        assert_eq!(allowed, notes(json!({ "uid": "7", "allowed": true })));
    }

    #[test]
    fn a_mutation_patches_what_it_changed_and_keeps_what_its_type_does_not_know() {
        let ask = mutating::<Foo>(|request| {
            request.object.spec.replicas.get_or_insert(1);
            request.object.spec.ports.iter_mut().for_each(|port| port.port += 1);
            Ok(())
        });
        let ports = json!([{ "name": "a", "port": 1, "unknown": 1 }, { "name": "b", "port": 2 }]);
        let object = json!({ "unknown": true, "spec": { "unknown": 1, "ports": ports } });
        let expected = json!([
            { "op": "replace", "path": "/spec/ports/0/port", "value": 2 },
            { "op": "replace", "path": "/spec/ports/1/port", "value": 3 },
            { "op": "add", "path": "/spec/replicas", "value": 1 },
        ]);
        assert_eq!(patch(&asked(creation(object), &ask).unwrap()), expected);
        let unchanged = asked(creation(json!({ "spec": { "replicas": 2 } })), &ask).unwrap();
        assert_eq!(unchanged, json!({ "uid": "7", "allowed": true }));
    }

    #[test]
    fn a_change_that_would_lose_fields_fails_and_a_denial_patches_nothing() {
        let renames = mutating::<Foo>(|request| {
            request.object.spec.ports[0] = Port { name: "other".to_owned(), port: 2 };
            Ok(())
        });
        let object = json!({ "spec": { "ports": [{ "name": "a", "port": 1, "unknown": 1 }] } });
        let Err(Fault::Failed(why)) = asked(creation(object.clone()), &renames) else { panic!("it lost a field") };
        assert!(why.contains("spec.ports"), "{why}");
        let refuses = mutating::<Foo>(|request| {
            request.object.spec.replicas = Some(3);
            Err(Denial::new(422, "no"))
        });
        let refused = asked(creation(object), &refuses).unwrap();
        assert_eq!((&refused["status"]["code"], &refused["patch"]), (&json!(422), &Value::Null));
    }

    #[test]
    fn an_object_that_its_type_cannot_read_is_refused_and_an_old_one_is_not_quoted() {
        let ask = validating::<Foo>(|_| Ok(()));
        let refused = asked(creation(json!({ "spec": { "replicas": "secret" } })), &ask).unwrap();
        assert_eq!((&refused["allowed"], &refused["status"]["code"]), (&json!(false), &json!(400)));
        let mut update = creation(json!({ "spec": {} }));
        update["operation"] = json!("UPDATE");
        update["oldObject"] = json!({ "spec": { "replicas": "secret" } });
        let message = asked(update, &ask).unwrap()["status"]["message"].clone();
        assert_eq!(message, "the old object cannot be read as Foo");
    }

    #[test]
    fn a_deletion_shows_the_object_that_is_to_go_and_a_dry_run_is_told() {
        let ask = validating::<Foo>(|request| {
            assert!(request.dry_run && request.old.is_none());
            if request.object.spec.replicas == Some(0) { Ok(()) } else { Err("it has replicas".into()) }
        });
        let object = json!({ "spec": { "replicas": 2 } });
        let request = json!({ "uid": "7", "operation": "DELETE", "object": null, "oldObject": object, "dryRun": true });
        assert_eq!(asked(request, &ask).unwrap()["status"]["message"], "it has replicas");
    }

    #[test]
    fn what_no_server_sends_is_malformed() {
        let ask = validating::<Foo>(|_| Ok(()));
        let malformed = |body: &str| matches!(answer(body.as_bytes(), &ask), Err(Fault::Malformed(_)));
        let deep = format!("{}{}", "[".repeat(10_000), "]".repeat(10_000));
        let deep = format!(r#"{{"apiVersion":"{VERSION}","kind":"{KIND}","request":{{"uid":"1","object":{deep}}}}}"#);
        let of = |request: Value| json!({ "apiVersion": VERSION, "kind": KIND, "request": request }).to_string();
        let bodies = ["", "{", "null", "[]", "\u{0}", &deep];
        assert!(bodies.iter().all(|body| malformed(body)));
        assert!(malformed(&of(Value::Null)) && malformed(&of(json!({ "operation": "CREATE" }))));
        assert!(malformed(&of(json!({ "uid": "", "operation": "CREATE" }))));
        assert!(malformed(&of(json!({ "uid": "1", "operation": "OTHER" }))));
        assert!(malformed(&json!({ "apiVersion": "v1", "kind": KIND, "request": { "uid": "1" } }).to_string()));
    }
}
