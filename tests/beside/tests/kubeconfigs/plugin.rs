//! Exec plugins: what they print, how they are named, and what they are told.

use crate::kubeconfigs::certificates::{Identity, certificates};
use crate::kubeconfigs::credential::{certificate_data, id_token, open_id, password, token};
use crate::kubeconfigs::draft::Draft;
use crate::kubeconfigs::rows::Choice;
use serde_json::{Value, json};

const V1BETA1: &str = "client.authentication.k8s.io/v1beta1";

pub(super) const PLUGINS: &[Choice] = &[
    Choice::new("no plugin", |_| {}),
    Choice::new("plugin", usual),
    Choice::new("plugin of v1beta1", |draft| {
        let answer = credential().replace("k8s.io/v1", "k8s.io/v1beta1");
        draft.plugin(answer);
        draft.in_exec("apiVersion", json!(V1BETA1));
    }),
    Choice::new("plugin of v1beta1 without a mode", |draft| {
        let answer = credential().replace("k8s.io/v1", "k8s.io/v1beta1");
        draft.plugin(answer);
        draft.in_exec("apiVersion", json!(V1BETA1));
        draft.in_exec("interactiveMode", Value::Null);
    }),
    Choice::new("plugin of v1alpha1", |draft| {
        changed(draft, "apiVersion", "client.authentication.k8s.io/v1alpha1".into());
    }),
    Choice::new("plugin without a version", |draft| changed(draft, "apiVersion", Value::Null)),
    Choice::new("plugin that answers in another version", |draft| {
        usual(draft);
        draft.in_exec("apiVersion", json!(V1BETA1));
    }),
    Choice::new("plugin that answers without a version", |draft| answers(draft, |answer| remove(answer, "apiVersion"))),
    Choice::new("plugin that answers without a kind", |draft| answers(draft, |answer| remove(answer, "kind"))),
    Choice::new("plugin that answers another kind", |draft| answers(draft, |answer| answer["kind"] = json!("Pod"))),
    Choice::new("plugin that answers in YAML", |draft| {
        draft.plugin(
            "apiVersion: client.authentication.k8s.io/v1\nkind: ExecCredential\nstatus:\n  token: of-the-plugin\n",
        );
    }),
    Choice::new("plugin that answers behind a BOM", |draft| draft.plugin(format!("\u{feff}{}", credential()))),
    Choice::new("plugin that answers in UTF-16", |draft| {
        let units = format!("\u{feff}{}", credential());
        draft.plugin(units.encode_utf16().flat_map(u16::to_le_bytes).collect::<Vec<u8>>());
    }),
    Choice::new("plugin that answers twice", |draft| draft.plugin(format!("{}\n{}\n", credential(), credential()))),
    Choice::new("plugin with words before", |draft| draft.plugin(format!("Hello\n{}\n", credential()))),
    Choice::new("plugin with words behind", |draft| draft.plugin(format!("{}\nBye\n", credential()))),
    Choice::new("plugin with words aside", |draft| {
        usual(draft);
        draft.script("echo hello >&2; cat \"$folder/answer\"");
    }),
    Choice::new("plugin that answers an unknown field", |draft| {
        answers(draft, |answer| answer["status"]["x"] = json!(1));
    }),
    Choice::new("plugin that answers no status", |draft| answers(draft, |answer| remove(answer, "status"))),
    Choice::new("plugin that answers an empty token", |draft| status(draft, json!({ "token": "" }))),
    Choice::new("plugin that answers a number", |draft| status(draft, json!({ "token": 1 }))),
    Choice::new("plugin whose token has a line's end", |draft| status(draft, json!({ "token": "of-the-plugin\n" }))),
    Choice::new("plugin of a certificate", |draft| status(draft, certificate())).crossed(),
    Choice::new("plugin of a certificate and a token", |draft| {
        let mut both = certificate();
        both["token"] = json!("of-the-plugin");
        status(draft, both);
    }),
    Choice::new("plugin of a certificate without a key", |draft| {
        let mut half = certificate();
        remove(&mut half, "clientKeyData");
        status(draft, half);
    }),
    Choice::new("plugin of a certificate with another key", |draft| {
        let mut pair = certificate();
        pair["clientKeyData"] = json!(certificates().client.key);
        status(draft, pair);
    }),
    Choice::new("plugin whose credential has expired", |draft| expiring(draft, "2001-01-01T00:00:00Z")),
    Choice::new("plugin whose credential expires", |draft| expiring(draft, "2999-01-01T00:00:00+01:00")),
    Choice::new("plugin whose credential expires never", |draft| expiring(draft, "0001-01-01T00:00:00Z")),
    Choice::new("plugin whose credential expires in parts of a second", |draft| {
        expiring(draft, "2999-01-01T00:00:00.5Z");
    }),
    Choice::new("plugin whose credential expires some day", |draft| expiring(draft, "some day")),
    Choice::new("plugin whose credential expires on a day", |draft| expiring(draft, "2999-01-01")),
    Choice::new("plugin whose expiry is empty", |draft| expiring(draft, "")),
    Choice::new("plugin that fails", |draft| draft.script("exit 3")),
    Choice::new("plugin that answers and fails", |draft| {
        usual(draft);
        draft.script("cat \"$folder/answer\"; exit 3");
    }),
    Choice::new("plugin that prints nothing", |draft| draft.plugin("")),
    Choice::new("plugin that prints garbage", |draft| draft.plugin("garbage")),
    Choice::new("plugin that is told the cluster", |draft| changed(draft, "provideClusterInfo", true.into())).crossed(),
    Choice::new("plugin that is told of an extension", |draft| {
        changed(draft, "provideClusterInfo", true.into());
        let extension = json!({ "audience": "it", "numbers": [1, 2.5, "3"], "none": null, "flag": true });
        let name = "client.authentication.k8s.io/exec";
        draft.in_cluster(
            "extensions",
            json!([{ "name": "x", "extension": 1 }, { "name": name, "extension": extension }]),
        );
    }),
    Choice::new("plugin that never asks", |draft| changed(draft, "interactiveMode", "Never".into())),
    Choice::new("plugin that always asks", |draft| changed(draft, "interactiveMode", "Always".into())),
    Choice::new("plugin without a mode", |draft| changed(draft, "interactiveMode", Value::Null)),
    Choice::new("plugin of an unknown mode", |draft| changed(draft, "interactiveMode", "Sometimes".into())),
    Choice::new("plugin of a mode in small letters", |draft| changed(draft, "interactiveMode", "never".into())),
    Choice::new("plugin with a variable", |draft| variable(draft, json!({ "name": "VARIABLE", "value": "it's" }))),
    Choice::new("plugin with an empty variable", |draft| variable(draft, json!({ "name": "VARIABLE", "value": "" }))),
    Choice::new("plugin with a variable without a value", |draft| variable(draft, json!({ "name": "VARIABLE" }))),
    Choice::new("plugin with a variable without a name", |draft| variable(draft, json!({ "value": "x" }))),
    Choice::new("plugin with a variable of two", |draft| {
        let two = json!([{ "name": "VARIABLE", "value": "1" }, { "name": "VARIABLE", "value": "2" }]);
        changed(draft, "env", two);
    }),
    Choice::new("plugin with a variable that is a number", |draft| {
        variable(draft, json!({ "name": "VARIABLE", "value": 1 }));
    }),
    Choice::new("plugin with a name with `=`", |draft| variable(draft, json!({ "name": "VARIABLE=x", "value": "y" }))),
    Choice::new("plugin with another input", |draft| {
        variable(draft, json!({ "name": "KUBERNETES_EXEC_INFO", "value": "x" }));
    }),
    Choice::new("plugin with arguments", |draft| {
        usual(draft);
        let script = draft.path("plugin.sh");
        draft.in_exec("args", json!([script.to_str(), "", "a b", "$HOME", "'"]));
    }),
    Choice::new("plugin with null arguments", |draft| {
        relative(draft, "./it");
        draft.in_exec("args", Value::Null);
    }),
    Choice::new("plugin beside its file", |draft| relative(draft, "./it")),
    Choice::new("plugin below its file", |draft| relative(draft, "bin/../it")),
    Choice::new("plugin by name beside its file", |draft| relative(draft, "it")),
    Choice::new("plugin by its whole path", |draft| changed(draft, "command", "/bin/sh".into())),
    Choice::new("plugin that is not there", |draft| changed(draft, "command", "listwatch-no-plugin".into())),
    Choice::new("plugin that is not there, with a hint", |draft| {
        changed(draft, "command", "./listwatch-no-plugin".into());
        draft.in_exec("installHint", json!("install\nit"));
    }),
    Choice::new("plugin without a command", |draft| changed(draft, "command", Value::Null)),
    Choice::new("plugin and token", |draft| {
        usual(draft);
        token(draft);
    }),
    Choice::new("plugin and token file", |draft| {
        usual(draft);
        let file = draft.file("token", "of-the-file");
        draft.in_user("tokenFile", file);
    }),
    Choice::new("plugin and password", |draft| {
        usual(draft);
        password(draft);
    }),
    Choice::new("plugin and client certificate", |draft| {
        usual(draft);
        certificate_data(draft);
    }),
    Choice::new("plugin of a certificate, and client certificate", |draft| {
        status(draft, certificate());
        certificate_data(draft);
    }),
    Choice::new("plugin that is broken, and token", |draft| {
        changed(draft, "interactiveMode", "Sometimes".into());
        token(draft);
    }),
    Choice::new("plugin that always asks, and token", |draft| {
        changed(draft, "interactiveMode", "Always".into());
        token(draft);
    }),
    Choice::new("plugin and OpenID token", |draft| {
        usual(draft);
        open_id(draft, Some(&id_token(4_102_444_800)), &["idp-issuer-url"]);
    }),
    Choice::new("plugin for another user", |draft| {
        usual(draft);
        draft.in_user("as", "jane");
    }),
];

fn answer() -> Value {
    json!({
        "apiVersion": "client.authentication.k8s.io/v1",
        "kind": "ExecCredential",
        "status": { "token": "of-the-plugin" },
    })
}

fn credential() -> String {
    answer().to_string()
}

fn certificate() -> Value {
    let Identity { certificate, key } = &certificates().plugin;
    json!({ "clientCertificateData": certificate, "clientKeyData": key })
}

fn usual(draft: &mut Draft<'_>) {
    draft.plugin(credential());
}

fn changed(draft: &mut Draft<'_>, key: &str, value: Value) {
    usual(draft);
    draft.in_exec(key, value);
}

fn answers(draft: &mut Draft<'_>, change: impl FnOnce(&mut Value)) {
    let mut answer = answer();
    change(&mut answer);
    draft.plugin(answer.to_string());
}

fn status(draft: &mut Draft<'_>, status: Value) {
    answers(draft, |answer| answer["status"] = status);
}

fn expiring(draft: &mut Draft<'_>, date: &str) {
    status(draft, json!({ "token": "of-the-plugin", "expirationTimestamp": date }));
}

fn variable(draft: &mut Draft<'_>, variable: Value) {
    changed(draft, "env", json!([variable]));
}

fn remove(map: &mut Value, key: &str) {
    map.as_object_mut().unwrap().remove(key);
}

/// The shell by another name beside the kubeconfig, which the script is given to.
fn relative(draft: &mut Draft<'_>, command: &str) {
    changed(draft, "command", command.into());
    std::fs::create_dir(draft.path("bin")).unwrap();
    std::os::unix::fs::symlink("/bin/sh", draft.path("it")).unwrap();
}
