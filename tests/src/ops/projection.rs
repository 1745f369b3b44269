//! A projection of objects, compared with what serde_json reads of the same text.

use listwatch_core::decode::{
    Body, Decode, Decoder, Ending, Json, ListMeta, MetadataOnly, Part, ProjectedJson, Projector,
};
use listwatch_core::projection;
use listwatch_core::projection::{Beginning, Field, Piece, Projected, Slot, Text};
use listwatch_core::request::Query;
use listwatch_core::storage::Keyed;
use listwatch_core::transport::ResponseHead;
use serde_json::Value;
use std::fmt::Debug;

/// The bytes of a key.
const KEY: usize = 24;

projection! {
    struct Fields {
        node: Text<12> = "spec.nodeName",
        image: Beginning<6> = "spec.containers[1].image",
        host: Option<bool> = "spec.hostNetwork",
        ready: Option<Text<8>> = "status.conditions[type=Ready].status",
        zone: Text<12> = "metadata.labels['a.b/zone']",
        owner: Text<12> = "metadata.ownerReferences[controller=true].name",
        port: Option<i64> = "spec.containers[name=web].ports[name=http].port",
        count: u16 = "status.count",
    }
}

/// Reads the text that `data` holds behind two bytes: what it is, and the length of its pieces.
///
/// # Panics
/// If the parts depend on the pieces. If an object that is JSON gives other fields than serde_json reads, or is refused
/// without a reason. If a body has other parts than the decoder of the heap finds.
pub fn run(data: &[u8]) {
    let Some((&[kind, length], text)) = data.split_first_chunk::<2>() else { return };
    let length = 1 + usize::from(length);
    match kind % 4 {
        0 | 1 => check_object(text, length),
        2 => check_body(Query::List, text, length),
        _ => check_body(Query::Watch, text, length),
    }
    let body = if kind & 4 == 0 { Body::Refusal(500) } else { Body::Watch };
    in_pieces(body, text, length);
}

/// The text as an item of a list, and as the object of an event, behind its type and before it.
fn check_object(text: &[u8], length: usize) {
    let expected = serde_json::from_slice::<Value>(text).ok().map(|value| expected(&value));
    let bodies = [
        (Body::List, [b"{\"items\":[", text, b"]}"].concat()),
        (Body::Watch, [b"{\"type\":\"ADDED\",\"object\":", text, b"}\n"].concat()),
        (Body::Watch, [b"{\"object\":", text, b",\"type\":\"DELETED\"}"].concat()),
    ];
    for (body, bytes) in bodies {
        let parts = in_pieces(body, &bytes, length);
        let Some(expected) = &expected else { continue };
        let [part] = &parts[..] else { panic!("{parts:?}: {}", bytes.escape_ascii()) };
        let object = match part {
            Part::Item(object) | Part::Event(_, object) => Some(object),
            Part::Undecodable(_) => None,
            other => panic!("{other:?}: {}", bytes.escape_ascii()),
        };
        let agrees = object == expected.as_ref() || repeats_null(text, object);
        assert!(agrees, "{part:?}, not {expected:?}: {}", bytes.escape_ascii());
    }
}

/// Whether metadata have a name, and then a `null` for it, which does not count. serde_json's value does not show it.
fn repeats_null(text: &[u8], object: Option<&Projected<Fields, KEY>>) -> bool {
    let heap = Decoder::default().item::<MetadataOnly>(text, &ListMeta::default());
    let agrees = match (&heap, object) {
        (Ok(heap), Some(object)) => heap.meta.key().as_str() == object.key(),
        (Ok(heap), None) => heap.meta.key().as_str().len() > KEY,
        (Err(_), _) => true,
    };
    agrees && text.windows(4).any(|word| word == b"null")
}

/// The parts of a body, which do not depend on its pieces.
fn in_pieces(body: Body, text: &[u8], length: usize) -> Vec<Part<Projected<Fields, KEY>>> {
    let parts = |length| {
        let (mut projector, mut parts) = (Projector::<Fields, KEY>::new(), Vec::new());
        projector.start(body);
        for mut piece in text.chunks(length) {
            parts.extend(std::iter::from_fn(|| projector.next_part(&mut piece)));
        }
        (parts, format!("{:?}", projector.finish()))
    };
    let whole = parts(text.len().max(1));
    assert_eq!(parts(length), whole, "in pieces of {length}: {}", text.escape_ascii());
    whole.0
}

/// A body has the parts that the decoder of the heap finds. That one refuses more, because it reads all metadata. The
/// other one refuses what is too long, a bookmark that is none, and an error that is no JSON.
fn check_body(query: Query, text: &[u8], length: usize) {
    let ours = outline(ProjectedJson::<(), KEY, 7>::new(), query, text, length);
    let heap = outline(Json::<MetadataOnly>::default(), query, text, length);
    assert_eq!(ours.len(), heap.len(), "{ours:?}, {heap:?}: {}", text.escape_ascii());
    for (ours, heap) in ours.iter().zip(&heap) {
        let allowed = heap.starts_with("undecodable")
            || ours.contains("longer than")
            || (ours.starts_with("undecodable") && (heap.starts_with("bookmark") || heap == "error 0"))
            || (ours.starts_with("error") && heap == "error 0")
            || (ours.starts_with("list") && heap == "list  ")
            || (ours == "truncated" && heap.len() > projection::VERSION);
        assert!(ours == heap || allowed, "{ours}, not {heap}: {}", text.escape_ascii());
    }
}

fn outline<D: Decode<Object: Debug>>(mut decoder: D, query: Query, text: &[u8], length: usize) -> Vec<String>
where
    <D::Object as Keyed>::Key: Debug + ToString,
{
    decoder.start(query, &ResponseHead { status: 200, ..ResponseHead::default() });
    let (mut outline, mut rest) = (Vec::new(), text);
    while !rest.is_empty() {
        let space = decoder.space();
        let (piece, behind) = rest.split_at(space.len().min(rest.len()).min(length));
        space[..piece.len()].copy_from_slice(piece);
        decoder.take(piece.len());
        rest = behind;
        while let Some(part) = decoder.next_part() {
            outline.push(match part {
                Part::Item(object) => format!("item {}", object.key().to_string()),
                Part::Event(event_type, object) => format!("{event_type:?} {}", object.key().to_string()),
                Part::Bookmark { version, initial_events_end } => format!("bookmark {version} {initial_events_end}"),
                Part::Error(status) => format!("error {}", status.code),
                Part::Undecodable(error) => format!("undecodable {}", error.error),
                Part::NotAList => "no list".to_owned(),
                other => panic!("{other:?}"),
            });
        }
    }
    outline.push(match decoder.finish() {
        Ending::List { resource_version, continue_token } => format!("list {resource_version} {continue_token}"),
        Ending::TruncatedList => "truncated".to_owned(),
        ending => format!("{ending:?}"),
    });
    outline
}

/// A step of a path, for the model.
#[derive(Clone, Copy)]
enum To {
    Member(&'static str),
    Element(usize),
    Where(&'static str, &'static str),
}

use To::{Element, Member, Where};

/// What a projection has to say of the object; `None` if it must refuse it.
fn expected(object: &Value) -> Option<Projected<Fields, KEY>> {
    let text = |path: &[To], most: usize| match find(object, path)? {
        Value::Null => Some(String::new()),
        Value::String(text) if text.len() <= most => Some(text.clone()),
        _ => None,
    };
    let meta = |name, most| text(&[Member("metadata"), Member(name)], most);
    let [name, namespace] = [meta("name", KEY)?, meta("namespace", KEY)?];
    let (uid, version) = (meta("uid", projection::UID)?, meta("resourceVersion", projection::VERSION)?);
    let key = if namespace.is_empty() { name.clone() } else { format!("{namespace}/{name}") };
    if name.is_empty() || key.len() > KEY {
        return None;
    }
    let containers = [Member("spec"), Member("containers")];
    let conditions = [Member("status"), Member("conditions"), Where("type", "Ready"), Member("status")];
    let owners = [Member("metadata"), Member("ownerReferences"), Where("controller", "true"), Member("name")];
    let ports = [Where("name", "web"), Member("ports"), Where("name", "http"), Member("port")];
    let image = text(&[&containers[..], &[Element(1), Member("image")]].concat(), usize::MAX)?;
    let fields = [
        text(&[Member("spec"), Member("nodeName")], 12)?,
        text(&[Member("metadata"), Member("labels"), Member("a.b/zone")], 12)?,
        text(&owners, 12)?,
    ];
    let ready = match find(object, &conditions)? {
        Value::Null => None,
        _ => Some(text(&conditions, 8)?),
    };
    let host = match find(object, &[Member("spec"), Member("hostNetwork")])? {
        Value::Null => None,
        value => Some(value.as_bool()?),
    };
    let port = match find(object, &[&containers[..], &ports[..]].concat())? {
        Value::Null => None,
        value => Some(value.as_i64()?),
    };
    let count = match find(object, &[Member("status"), Member("count")])? {
        Value::Null => 0,
        value => u16::try_from(value.as_i64()?).ok()?,
    };
    Some(made(&[&key, &uid, &version], &fields, &image, ready, (host, port, count)))
}

/// An object with these fields, which a projector makes of a text without any difficulty.
fn made(
    [key, uid, version]: &[&str; 3],
    [node, zone, owner]: &[String; 3],
    image: &str,
    ready: Option<String>,
    (host, port, count): (Option<bool>, Option<i64>, u16),
) -> Projected<Fields, KEY> {
    let mut projected = named(key, uid, version);
    projected.value = Fields {
        node: fitting(node),
        image: beginning(image),
        host,
        ready: ready.as_deref().map(fitting),
        zone: fitting(zone),
        owner: fitting(owner),
        port,
        count,
    };
    projected
}

fn named(key: &str, uid: &str, version: &str) -> Projected<Fields, KEY> {
    let (namespace, name) = key.split_once('/').unwrap_or(("", key));
    let metadata = serde_json::json!({ "namespace": namespace, "name": name, "uid": uid, "resourceVersion": version });
    let text = serde_json::json!({ "metadata": metadata }).to_string();
    let mut projector = Projector::<Fields, KEY>::new();
    projector.start(Body::Object);
    match projector.next_part(&mut text.as_bytes()) {
        Some(Part::Item(object)) => object,
        other => panic!("{other:?} of {text}"),
    }
}

fn fitting<const N: usize>(text: &str) -> Text<N> {
    let mut fitting = Text::new();
    fitting.push(text).expect("the model has measured it");
    fitting
}

fn beginning<const N: usize>(text: &str) -> Beginning<N> {
    let mut beginning = Beginning::ABSENT;
    beginning.take(Piece::Text(text)).expect("it takes any text");
    beginning
}

/// The value at the end of a path, `null` where there is none; `None` where the path leads through a value of another
/// type.
fn find<'a>(value: &'a Value, path: &[To]) -> Option<&'a Value> {
    let Some((step, rest)) = path.split_first() else { return Some(value) };
    let next = match (value, step) {
        (Value::Null, _) => None,
        (Value::Object(members), Member(name)) => members.get(*name),
        (Value::Array(elements), Element(at)) => elements.get(*at),
        (Value::Array(elements), Where(name, is)) => elements.iter().find(|element| match element.get(*name) {
            Some(Value::String(text)) => text == is,
            Some(Value::Bool(it)) => it.to_string() == *is,
            _ => false,
        }),
        _ => return None,
    };
    find(next.unwrap_or(&Value::Null), rest)
}

/// Texts for [`run`]: an object, a list of two and a watch of two. `random` returns a number below its argument.
pub fn texts(random: &mut impl FnMut(usize) -> usize) -> [Vec<u8>; 3] {
    let [one, other] = [object(random), object(random)];
    let list = format!(r#"{{"metadata":{{"resourceVersion":"12","continue":"x"}},"items":[{one},{other}]}}"#);
    let [first, second] = [&one, &other].map(|object| object.replace('\n', " "));
    let (bookmark, error) = (random(4) == 0, random(4) == 0);
    let [of_first, of_second] = [if bookmark { "BOOKMARK" } else { "ADDED" }, if error { "ERROR" } else { "DELETED" }];
    let watch =
        format!("{{\"type\":\"{of_first}\",\"object\":{first}}}\n{{\"object\":{second},\"type\":\"{of_second}\"}}\n");
    [(0, one), (2, list), (3, watch)].map(|(kind, text)| [&[kind, random(80) as u8], text.as_bytes()].concat())
}

/// An object of the members that the projection knows, in any order, with values of any kind.
fn object(random: &mut impl FnMut(usize) -> usize) -> String {
    let members =
        ["metadata", "spec", "status", "metadata", "kind"].map(|name| (name, usize::from(name != "kind") * 2));
    let mut text = String::new();
    write_members(&mut text, &members, random);
    text
}

/// Members of these names, and what kind of value each has; each at most twice, most of them once.
fn write_members(text: &mut String, names: &[(&str, usize)], random: &mut impl FnMut(usize) -> usize) {
    let mut names = names.to_vec();
    for at in (1..names.len()).rev() {
        names.swap(at, random(at + 1));
    }
    text.push('{');
    let mut is_first = true;
    for (name, kind) in names {
        let times = [0, 1, 1, 1, 1, 1, 1, 2][random(8)];
        for _ in 0..times {
            text.push_str(if std::mem::take(&mut is_first) { "" } else { [",", " , ", ",\n"][random(3)] });
            write_string(text, name, random);
            text.push_str([":", " : "][random(2)]);
            write_value(text, name, kind, random);
        }
    }
    text.push('}');
}

/// A value of a member: mostly of the kind that the projection expects there.
fn write_value(text: &mut String, name: &str, kind: usize, random: &mut impl FnMut(usize) -> usize) {
    let odd = ["null", "7", "-0", "1.5e3", "true", "[]", "{}", "\"x\"", "[{\"name\":[]}]", "70000"];
    match (name, kind) {
        _ if random(12) == 0 => text.push_str(odd[random(odd.len())]),
        ("metadata", _) => write_members(
            text,
            &[("name", 0), ("namespace", 0), ("uid", 0), ("resourceVersion", 0), ("labels", 1), ("ownerReferences", 3)],
            random,
        ),
        ("spec", _) => write_members(text, &[("nodeName", 0), ("containers", 3), ("hostNetwork", 4), ("x", 3)], random),
        ("status", 2) => write_members(text, &[("conditions", 3), ("count", 5), ("phase", 0)], random),
        ("labels", _) => write_members(text, &[("a.b/zone", 0), ("a", 0), ("a.b", 1)], random),
        (_, 3) => write_elements(text, random),
        (_, 4) => text.push_str(["true", "false"][random(2)]),
        (_, 5) => text.push_str(["0", "12", "65535", "-1", "9223372036854775807"][random(5)]),
        _ => {
            let values = [
                "web",
                "http",
                "Ready",
                "True",
                "a",
                "node-1",
                "größe \"\u{1f642}\"",
                "a\n\\b\tc",
                "far too long a text",
            ];
            let value = values[random(values.len())];
            write_string(text, value, random);
        }
    }
}

fn write_elements(text: &mut String, random: &mut impl FnMut(usize) -> usize) {
    text.push('[');
    for at in 0..random(4) {
        text.push_str(if at == 0 { "" } else { "," });
        let members = [
            ("type", 0),
            ("status", 0),
            ("name", 0),
            ("image", 0),
            ("controller", 4),
            ("ports", random(2) * 3),
            ("port", 5),
        ];
        write_members(text, &members, random);
    }
    text.push(']');
}

/// A string, some characters of which are escapes.
fn write_string(text: &mut String, value: &str, random: &mut impl FnMut(usize) -> usize) {
    text.push('"');
    for c in value.chars() {
        if random(8) == 0 || c < ' ' || matches!(c, '"' | '\\') {
            c.encode_utf16(&mut [0; 2]).iter().for_each(|unit| text.push_str(&format!("\\u{unit:04x}")));
        } else {
            text.push(c);
        }
    }
    text.push('"');
}
