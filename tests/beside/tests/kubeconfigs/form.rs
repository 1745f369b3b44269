//! How a kubeconfig is written: the syntax of its text, its files, and the entries around those that are used.

use crate::kubeconfigs::draft::Files;
use crate::kubeconfigs::rows::Choice;
use serde_json::{Value, json};

pub(super) const FORMS: &[Choice] = &[
    Choice::new("block YAML", |draft| draft.form = |root| one(block(&root, quoted))),
    Choice::new("flow YAML", |draft| draft.form = |root| one(flow(&root))),
    Choice::new("JSON", |draft| draft.form = |root| one(root.to_string())).crossed(),
    Choice::new("indented JSON", |draft| draft.form = |root| one(serde_json::to_string_pretty(&root).unwrap())),
    Choice::new("JSON with words behind", |draft| draft.form = |root| one(format!("{root}\nBye\n"))),
    Choice::new("JSON behind a BOM", |draft| draft.form = |root| one(format!("\u{feff}{root}"))),
    Choice::new("UTF-8 BOM", |draft| draft.form = |root| one(format!("\u{feff}{}", block(&root, quoted)))),
    Choice::new("UTF-16 LE", |draft| draft.form = |root| utf16(&root, u16::to_le_bytes)).crossed(),
    Choice::new("UTF-16 BE", |draft| draft.form = |root| utf16(&root, u16::to_be_bytes)),
    Choice::new("UTF-16 without a BOM", |draft| {
        draft.form = |root| one(block(&root, quoted).encode_utf16().flat_map(u16::to_le_bytes).collect::<Vec<u8>>());
    }),
    Choice::new("single quotes", |draft| draft.form = |root| one(block(&root, single))),
    Choice::new("no quotes", |draft| draft.form = |root| one(block(&root, plain))),
    Choice::new("CRLF", |draft| draft.form = |root| one(block(&root, quoted).replace('\n', "\r\n"))),
    Choice::new("comments", |draft| draft.form = |root| one(block(&root, quoted).replace('\n', " # comment\n"))),
    Choice::new("document markers", |draft| draft.form = |root| one(format!("---\n{}...\n", block(&root, quoted)))),
    Choice::new("a second document", |draft| {
        draft.form = |root| one(format!("{}---\nusers: 1\n", block(&root, quoted)));
    }),
    Choice::new("a YAML directive", |draft| {
        draft.form = |root| one(format!("%YAML 1.2\n---\n{}", block(&root, quoted)));
    }),
    Choice::new("an anchor", |draft| {
        draft.form = |mut root| {
            let cluster = take(&mut root, "clusters");
            one(format!("x-clusters: &it\n{}clusters: *it\n{}", block(&cluster, quoted), block(&root, quoted)))
        };
    }),
    Choice::new("a merge key", |draft| {
        draft.form = |mut root| {
            let user = take(&mut root, "users")[0]["user"].take();
            let user = user.as_object().filter(|user| !user.is_empty()).map(|_| flow(&user));
            let user = user.unwrap_or_else(|| "{}".to_owned());
            let merged = format!("x-user: &it {user}\nusers: [{{name: it, user: {{<<: *it}}}}]\n");
            one(format!("{merged}{}", block(&root, quoted)))
        };
    }),
    Choice::new("an unknown alias", |draft| draft.form = |root| one(format!("x: *it\n{}", block(&root, quoted)))),
    Choice::new("a tab for a blank", |draft| draft.form = |root| one(block(&root, quoted).replace("  ", "\t"))),
    Choice::new("a brace that is open", |draft| draft.form = |root| one(format!("{{{}", block(&root, quoted)))),
    Choice::new("a key twice", |draft| {
        draft.form = |root| one(format!("current-context: other\n{}", block(&root, quoted)));
    }),
    Choice::new("a name twice", |draft| {
        draft.form = |root| {
            changed(root, |root| {
                let again = root["users"][0].clone();
                root["users"].as_array_mut().unwrap().push(again);
            })
        }
    }),
    Choice::new("a name twice, elsewhere", |draft| {
        draft.form = |root| {
            changed(root, |root| {
                let other = json!({ "name": "other", "user": {} });
                root["users"].as_array_mut().unwrap().extend([other.clone(), other]);
            })
        }
    }),
    Choice::new("no kind", |draft| draft.form = |root| without(root, &["kind", "apiVersion"])),
    Choice::new("another kind", |draft| draft.form = |root| with(root, "kind", json!("Pod"))),
    Choice::new("another version", |draft| draft.form = |root| with(root, "apiVersion", json!("v2"))),
    Choice::new("unknown fields", |draft| {
        draft.form = |root| with(root, "unknown", json!({ "a": [1, { "b": null }] }));
    }),
    Choice::new("an unknown field of the user", |draft| {
        draft.form = |root| {
            changed(root, |root| {
                root["users"][0]["user"]["unknown"] = json!({ "a": 1 });
            })
        }
    }),
    Choice::new("null preferences", |draft| draft.form = |root| with(root, "preferences", Value::Null)),
    Choice::new("capital keys", |draft| draft.form = |root| one(block(&root, quoted).replace("server", "Server"))),
    Choice::new("no current context", |draft| draft.form = |root| without(root, &["current-context"])),
    Choice::new("an empty current context", |draft| draft.form = |root| with(root, "current-context", json!(""))),
    Choice::new("an unknown current context", |draft| draft.form = |root| with(root, "current-context", json!("x"))),
    Choice::new("no contexts", |draft| draft.form = |root| without(root, &["contexts"])),
    Choice::new("no clusters", |draft| draft.form = |root| without(root, &["clusters"])),
    Choice::new("no users", |draft| draft.form = |root| without(root, &["users"])),
    Choice::new("a context without a cluster", |draft| draft.form = |root| in_context(root, "cluster", Value::Null)),
    Choice::new("a context without a user", |draft| draft.form = |root| in_context(root, "user", Value::Null)),
    Choice::new("a context of an unknown cluster", |draft| draft.form = |root| in_context(root, "cluster", json!("x"))),
    Choice::new("a context of an unknown user", |draft| draft.form = |root| in_context(root, "user", json!("x"))),
    Choice::new("an empty server", |draft| {
        draft.form = |root| {
            changed(root, |root| {
                root["clusters"][0]["cluster"]["server"] = json!("");
            })
        }
    }),
    Choice::new("another user that is broken", |draft| {
        draft.form = |root| {
            changed(root, |root| {
                let broken = json!({ "name": "broken", "user": { "client-certificate-data": "?" } });
                root["users"].as_array_mut().unwrap().push(broken);
            })
        }
    }),
    Choice::new("another cluster that is broken", |draft| {
        draft.form = |root| {
            changed(root, |root| {
                let broken = json!({ "name": "broken", "cluster": { "insecure-skip-tls-verify": "maybe" } });
                root["clusters"].as_array_mut().unwrap().push(broken);
            })
        }
    }),
    Choice::new("another user of two credentials", |draft| {
        draft.form = |root| {
            changed(root, |root| {
                let both = json!({ "name": "both", "user": { "token": "x", "username": "x" } });
                root["users"].as_array_mut().unwrap().push(both);
            })
        }
    }),
    Choice::new("a list for a map", |draft| draft.form = |root| one(json!([root]).to_string())),
    Choice::new("a map for a list", |draft| draft.form = |root| with(root, "contexts", json!({ "it": {} }))),
    Choice::new("an empty file", |draft| draft.form = |_| one("")),
    Choice::new("two files, parts in each", |draft| {
        draft.form = |mut root| {
            let users = take(&mut root, "users");
            vec![
                file("config", &root),
                file("second", &json!({ "kind": "Config", "apiVersion": "v1", "users": users })),
            ]
        }
    })
    .crossed(),
    Choice::new("two files, the first counts", |draft| {
        draft.form = |root| {
            let mut second = root.clone();
            second["current-context"] = json!("other");
            second["clusters"][0]["cluster"]["server"] = json!("https://127.0.0.1:1");
            second["contexts"][0]["context"]["namespace"] = json!("of-the-second");
            vec![file("config", &root), file("second", &second)]
        }
    }),
    Choice::new("two files, one user in parts", |draft| {
        draft.form = |root| {
            let mut first = root.clone();
            first["users"][0]["user"] = json!({ "as": "nobody" });
            vec![file("first", &first), file("config", &root)]
        }
    }),
    Choice::new("a file that is not there", |draft| draft.form = |root| vec![("none", None), file("config", &root)]),
    Choice::new("no file is there", |draft| draft.form = |_| vec![("none", None)]),
    Choice::new("an empty file before", |draft| {
        draft.form = |root| vec![("empty", Some(Vec::new())), file("config", &root)];
    }),
    Choice::new("a broken file behind", |draft| {
        draft.form = |root| vec![file("config", &root), ("broken", Some(b"users: [".to_vec()))];
    }),
    Choice::new("the same file twice", |draft| {
        draft.form = |root| vec![file("config", &root), file("config", &root)];
    }),
];

fn one(text: impl Into<Vec<u8>>) -> Files {
    vec![("config", Some(text.into()))]
}

fn file(name: &'static str, root: &Value) -> (&'static str, Option<Vec<u8>>) {
    (name, Some(block(root, quoted).into_bytes()))
}

fn utf16(root: &Value, bytes: fn(u16) -> [u8; 2]) -> Files {
    one(format!("\u{feff}{}", block(root, quoted)).encode_utf16().flat_map(bytes).collect::<Vec<u8>>())
}

fn changed(mut root: Value, change: impl FnOnce(&mut Value)) -> Files {
    change(&mut root);
    one(block(&root, quoted))
}

fn with(root: Value, key: &str, value: Value) -> Files {
    changed(root, |root| root[key] = value)
}

fn without(root: Value, keys: &[&str]) -> Files {
    changed(root, |root| keys.iter().for_each(|key| drop(take(root, key))))
}

fn in_context(root: Value, key: &str, value: Value) -> Files {
    changed(root, |root| {
        let context = &mut root["contexts"][0]["context"];
        match value {
            Value::Null => drop(take(context, key)),
            value => context[key] = value,
        }
    })
}

fn take(map: &mut Value, key: &str) -> Value {
    map.as_object_mut().unwrap().remove(key).unwrap_or_default()
}

/// YAML in blocks, whose texts `quote` writes.
fn block(value: &Value, quote: fn(&str) -> String) -> String {
    let mut text = String::new();
    write_block(&mut text, value, "", quote);
    text
}

fn write_block(text: &mut String, value: &Value, indent: &str, quote: fn(&str) -> String) {
    let entries: Vec<(String, &Value)> = match value {
        Value::Object(entries) => entries.iter().map(|(key, value)| (format!("{}:", key_of(key)), value)).collect(),
        Value::Array(items) => items.iter().map(|item| ("-".to_owned(), item)).collect(),
        _ => return,
    };
    let deeper = format!("{indent}  ");
    for (head, value) in entries {
        let is_deep =
            value.as_array().is_some_and(|it| !it.is_empty()) || value.as_object().is_some_and(|it| !it.is_empty());
        if is_deep {
            *text += &format!("{indent}{head}\n");
            write_block(text, value, &deeper, quote);
        } else {
            let scalar = value.as_str().map_or_else(|| value.to_string(), quote);
            *text += &format!("{indent}{head} {scalar}\n");
        }
    }
}

fn flow(value: &Value) -> String {
    match value {
        Value::Object(entries) => {
            let entries = entries.iter().map(|(key, value)| format!("{}: {}", key_of(key), flow(value)));
            format!("{{{}}}", entries.collect::<Vec<_>>().join(", "))
        }
        Value::Array(items) => format!("[{}]", items.iter().map(flow).collect::<Vec<_>>().join(", ")),
        Value::String(text) => quoted(text),
        other => other.to_string(),
    }
}

fn key_of(key: &str) -> String {
    let is_plain = |letter: char| letter.is_ascii_alphanumeric() || matches!(letter, '-' | '_' | '.' | '/');
    if key.chars().all(is_plain) { key.to_owned() } else { quoted(key) }
}

fn quoted(text: &str) -> String {
    Value::from(text).to_string()
}

fn single(text: &str) -> String {
    if text.contains(char::is_control) { quoted(text) } else { format!("'{}'", text.replace('\'', "''")) }
}

/// Without quotes, if it is text and the same text without them.
fn plain(text: &str) -> String {
    let is_plain = |letter: char| letter.is_ascii_alphanumeric() || "-_./:=+$".contains(letter);
    let is_text = text.starts_with(|letter: char| letter.is_ascii_alphabetic() || letter == '/') && text.len() > 5;
    if is_text && text.chars().all(is_plain) && !text.ends_with(':') { text.to_owned() } else { quoted(text) }
}
