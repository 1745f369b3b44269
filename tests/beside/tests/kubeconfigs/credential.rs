//! Who the user is: tokens, passwords, client certificates, other users.

use crate::kubeconfigs::certificates::certificates;
use crate::kubeconfigs::draft::{Draft, packed};
use crate::kubeconfigs::rows::Choice;
use base64::Engine;
use base64::prelude::BASE64_URL_SAFE_NO_PAD;
use serde_json::{Value, json};

pub(super) const CREDENTIALS: &[Choice] = &[
    Choice::new("token", token),
    Choice::new("no credential", |_| {}).crossed(),
    Choice::new("empty token", |draft| draft.in_user("token", "")),
    Choice::new("null token", |draft| draft.in_user("token", Value::Null)),
    Choice::new("token that is a number", |draft| draft.in_user("token", 123_456)),
    Choice::new("token of digits", |draft| draft.in_user("token", "0123456")),
    Choice::new("token with a line's end", |draft| draft.in_user("token", "token\n")),
    Choice::new("token with blanks around", |draft| draft.in_user("token", " token ")),
    Choice::new("token that is no ASCII", |draft| draft.in_user("token", "tökén")),
    Choice::new("long token", |draft| draft.in_user("token", "t".repeat(8000))),
    Choice::new("token file", |draft| token_file(draft, "of-the-file")),
    Choice::new("token file, relative", |draft| {
        draft.file("token", "of-the-file");
        draft.in_user("tokenFile", "token");
    }),
    Choice::new("token file with a line's end", |draft| token_file(draft, "of-the-file\r\n")),
    Choice::new("token file with a BOM", |draft| token_file(draft, "\u{feff}of-the-file")),
    Choice::new("token file of two lines", |draft| token_file(draft, "one\ntwo\n")),
    Choice::new("token file that is empty", |draft| token_file(draft, "\n")),
    Choice::new("token file that is not there", |draft| draft.in_user("tokenFile", "none")),
    Choice::new("token and its file", |draft| {
        token(draft);
        token_file(draft, "of-the-file");
    }),
    Choice::new("token and a file that is not there", |draft| {
        token(draft);
        draft.in_user("tokenFile", "none");
    }),
    Choice::new("token and a file that is empty", |draft| {
        token(draft);
        token_file(draft, "");
    }),
    Choice::new("password", password).crossed(),
    Choice::new("name without a password", |draft| draft.in_user("username", "me")),
    Choice::new("password without a name", |draft| draft.in_user("password", "pass")),
    Choice::new("name with a colon", |draft| {
        draft.in_user("username", "a:b");
        draft.in_user("password", "c:d");
    }),
    Choice::new("password that is no ASCII", |draft| {
        draft.in_user("username", "mé");
        draft.in_user("password", "pässword\u{1f600}");
    }),
    Choice::new("password and token", |draft| {
        password(draft);
        token(draft);
    }),
    Choice::new("password without a name, and token", |draft| {
        draft.in_user("password", "pass");
        token(draft);
    }),
    Choice::new("password without a name, and token file", |draft| {
        draft.in_user("password", "pass");
        token_file(draft, "of-the-file");
    }),
    Choice::new("password and token file", |draft| {
        password(draft);
        token_file(draft, "of-the-file");
    }),
    Choice::new("client certificate", certificate_data).crossed(),
    Choice::new("client certificate, files", |draft| {
        let (certificate, key) = certificate_files(draft);
        draft.in_user("client-certificate", certificate);
        draft.in_user("client-key", key);
    }),
    Choice::new("client certificate, relative files", |draft| {
        certificate_files(draft);
        draft.in_user("client-certificate", "client.crt");
        draft.in_user("client-key", "./client.key");
    }),
    Choice::new("client certificate, file and data", |draft| {
        let (certificate, _) = certificate_files(draft);
        draft.in_user("client-certificate", certificate);
        draft.in_user("client-key-data", packed(&certificates().client.key));
    }),
    Choice::new("client certificate, both", |draft| {
        certificate_data(draft);
        let (certificate, key) = certificate_files(draft);
        draft.in_user("client-certificate", certificate);
        draft.in_user("client-key", key);
    }),
    Choice::new("client certificate without a key", |draft| {
        draft.in_user("client-certificate-data", packed(&certificates().client.certificate));
    }),
    Choice::new("client key without a certificate", |draft| {
        draft.in_user("client-key-data", packed(&certificates().client.key));
    }),
    Choice::new("client key without a certificate, and token", |draft| {
        draft.in_user("client-key-data", packed(&certificates().client.key));
        token(draft);
    }),
    Choice::new("client certificate with another key", |draft| {
        certificate_data(draft);
        draft.in_user("client-key-data", packed(&certificates().plugin.key));
    }),
    Choice::new("client certificate that is not there", |draft| {
        draft.in_user("client-certificate", "none.crt");
        draft.in_user("client-key", "none.key");
    }),
    Choice::new("client certificate of garbage", |draft| {
        draft.in_user("client-certificate-data", packed("garbage"));
        draft.in_user("client-key-data", packed("garbage"));
    }),
    Choice::new("client certificate that is no base64", |draft| {
        certificate_data(draft);
        draft.in_user("client-certificate-data", "?");
    }),
    Choice::new("client certificate and token", |draft| {
        certificate_data(draft);
        token(draft);
    }),
    Choice::new("client certificate and password", |draft| {
        certificate_data(draft);
        password(draft);
    }),
    Choice::new("OpenID token", |draft| open_id(draft, Some(&id_token(4_102_444_800)), &["idp-issuer-url"])),
    Choice::new("OpenID token without an issuer", |draft| open_id(draft, Some(&id_token(4_102_444_800)), &[])),
    Choice::new("OpenID token that has expired", |draft| open_id(draft, Some(&id_token(1)), &["idp-issuer-url"])),
    Choice::new("OpenID token to renew", |draft| {
        open_id(draft, Some(&id_token(1)), &["idp-issuer-url", "refresh-token"]);
    }),
    Choice::new("OpenID token that is none", |draft| open_id(draft, Some("token"), &["idp-issuer-url"])),
    Choice::new("OpenID without a token", |draft| open_id(draft, None, &["idp-issuer-url"])),
    Choice::new("OpenID without a configuration", |draft| draft.in_user("auth-provider", json!({ "name": "oidc" }))),
    Choice::new("OpenID token and token", |draft| {
        open_id(draft, Some(&id_token(4_102_444_800)), &["idp-issuer-url"]);
        token(draft);
    }),
    Choice::new("OpenID token and client certificate", |draft| {
        open_id(draft, Some(&id_token(4_102_444_800)), &["idp-issuer-url"]);
        certificate_data(draft);
    }),
    Choice::new("provider gcp", |draft| provider(draft, "gcp")),
    Choice::new("provider azure", |draft| provider(draft, "azure")),
    Choice::new("provider that is unknown", |draft| provider(draft, "unknown")),
    Choice::new("provider gcp and token", |draft| {
        provider(draft, "gcp");
        token(draft);
    }),
    Choice::new("another user", |draft| acting(draft, &[("as", json!("jane"))])).crossed(),
    Choice::new("another user, in full", |draft| {
        let extra = json!({ "scopes": ["view", "edit"], "reason": ["a b"] });
        let groups = json!(["dev", "ops", "dev"]);
        acting(
            draft,
            &[("as", json!("jane")), ("as-uid", json!("1")), ("as-groups", groups), ("as-user-extra", extra)],
        );
    }),
    Choice::new("another user, odd keys", |draft| {
        let extra = json!({ "example.com/A b%c": ["x"], "UPPER": ["y"], "é": ["z"] });
        acting(draft, &[("as", json!("jane")), ("as-user-extra", extra)]);
    }),
    Choice::new("another user that is no ASCII", |draft| acting(draft, &[("as", json!("jäne"))])),
    Choice::new("another user with a line's end", |draft| acting(draft, &[("as", json!("jane\n"))])),
    Choice::new("another user that is empty", |draft| acting(draft, &[("as", json!(""))])),
    Choice::new("another user without a credential", |draft| draft.in_user("as", "jane")),
    Choice::new("another user, empty group", |draft| {
        acting(draft, &[("as", json!("jane")), ("as-groups", json!([""]))]);
    }),
    Choice::new("groups of nobody", |draft| acting(draft, &[("as-groups", json!(["dev"]))])),
    Choice::new("uid of nobody", |draft| acting(draft, &[("as-uid", json!("1"))])),
    Choice::new("extra of nobody", |draft| acting(draft, &[("as-user-extra", json!({ "a": ["b"] }))])),
    Choice::new("groups that are a text", |draft| {
        acting(draft, &[("as", json!("jane")), ("as-groups", json!("dev"))]);
    }),
    Choice::new("extra of a text", |draft| {
        acting(draft, &[("as", json!("jane")), ("as-user-extra", json!({ "a": "b" }))]);
    }),
    Choice::new("user that is a text", |draft| draft.in_user("token", json!({ "a": 1 }))),
];

pub(super) fn token(draft: &mut Draft<'_>) {
    draft.in_user("token", "of-the-user");
}

fn token_file(draft: &mut Draft<'_>, content: &str) {
    let file = draft.file("token", content);
    draft.in_user("tokenFile", file);
}

pub(super) fn password(draft: &mut Draft<'_>) {
    draft.in_user("username", "me");
    draft.in_user("password", "pass");
}

pub(super) fn certificate_data(draft: &mut Draft<'_>) {
    draft.in_user("client-certificate-data", packed(&certificates().client.certificate));
    draft.in_user("client-key-data", packed(&certificates().client.key));
}

fn certificate_files(draft: &Draft<'_>) -> (String, String) {
    let client = &certificates().client;
    (draft.file("client.crt", &client.certificate), draft.file("client.key", &client.key))
}

/// A token that expires then, in seconds since 1970.
pub(super) fn id_token(expires: u64) -> String {
    let part = |claims: Value| BASE64_URL_SAFE_NO_PAD.encode(claims.to_string());
    format!("{}.{}.c2ln", part(json!({ "alg": "RS256" })), part(json!({ "exp": expires })))
}

/// The provider `oidc` with this token and these keys. Nobody listens at its address.
pub(super) fn open_id(draft: &mut Draft<'_>, token: Option<&str>, keys: &[&str]) {
    let mut config = json!({ "client-id": "it" });
    for key in keys {
        config[*key] = if *key == "idp-issuer-url" { json!("https://127.0.0.1:1") } else { json!("x") };
    }
    if let Some(token) = token {
        config["id-token"] = json!(token);
    }
    draft.in_user("auth-provider", json!({ "name": "oidc", "config": config }));
}

fn provider(draft: &mut Draft<'_>, name: &str) {
    let config = json!({ "access-token": "of-the-provider", "expiry": "2999-01-01T00:00:00Z" });
    draft.in_user("auth-provider", json!({ "name": name, "config": config }));
}

fn acting(draft: &mut Draft<'_>, entries: &[(&str, Value)]) {
    token(draft);
    entries.iter().for_each(|(key, value)| draft.in_user(key, value.clone()));
}
