//! Kubeconfigs: found, merged, read, and refused.

use super::support::{SECRET, Scratch, cluster, measured, measured_alone, most_memory, options, refusal};
use listwatch_transport_http::{Cluster, ConfigError, HttpTransport};
use std::env::join_paths;
use std::path::Path;

/// In base64.
pub(crate) fn base64(text: &str) -> String {
    use std::fmt::Write;
    const ALPHABET: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    let mut encoded = String::new();
    for group in text.as_bytes().chunks(3) {
        let bits = group.iter().fold(0u32, |bits, byte| bits << 8 | u32::from(*byte)) << (8 * (3 - group.len()));
        for place in 0..4 {
            let index = (bits >> (18 - 6 * place) & 63) as usize;
            let letter = if place <= group.len() { char::from(ALPHABET[index]) } else { '=' };
            write!(encoded, "{letter}").unwrap();
        }
    }
    encoded
}

fn inferred(files: &Scratch, variables: &[(&str, String)]) -> Result<Cluster, ConfigError> {
    let variables: Vec<(String, String)> =
        variables.iter().map(|(name, value)| ((*name).to_owned(), value.clone())).collect();
    let env = move |name: &str| variables.iter().find(|(set, _)| set == name).map(|(_, value)| value.clone());
    options(&[]).env(env).service_account(files.path("account")).infer()
}

fn listed(paths: &[&Path]) -> String {
    join_paths(paths).unwrap().into_string().unwrap()
}

const FIRST: &str = "\
apiVersion: v1
kind: Config
current-context: dev
contexts:
- name: dev
  context: {cluster: dev, user: me, namespace: web}
clusters:
- name: dev
  cluster:
    server: http://127.0.0.1:1/prefix/
";

const SECOND: &str = "\
current-context: prod
contexts:
- context: {cluster: prod, user: me}
  name: prod
- context: {cluster: prod, user: me}
  name: dev
clusters:
- {name: prod, cluster: {server: 'http://127.0.0.1:2'}}
users:
- name: me
  user: {token: hunter2}
";

#[test]
fn several_files_are_merged_and_what_comes_first_counts() {
    let files = Scratch::new();
    let (first, second) = (files.write("a/first", FIRST), files.write("b/second", SECOND));
    let missing = files.path("missing");
    let list = [("KUBECONFIG", listed(&[&missing, &first, &second]))];
    let cluster = inferred(&files, &list).unwrap();
    assert_eq!(cluster.server(), "http://127.0.0.1:1/prefix");
    assert_eq!((cluster.context(), cluster.namespace()), (Some("dev"), "web"));

    let cluster = inferred(&files, &[("KUBECONFIG", listed(&[&second, &first]))]).unwrap();
    assert_eq!((cluster.server(), cluster.context()), ("http://127.0.0.1:2", Some("prod")));
    assert_eq!(cluster.namespace(), "default");

    let chosen = options(&[]).context("dev").kubeconfig(&second).unwrap();
    assert_eq!((chosen.server(), chosen.context()), ("http://127.0.0.1:2", Some("dev")));
}

/// As PowerShell writes it.
#[test]
fn a_file_in_utf_16_is_read() {
    let files = Scratch::new();
    for unit in [u16::to_le_bytes, u16::to_be_bytes] {
        let text = format!("\u{feff}{}", SECOND.replace('\n', "\r\n"));
        let file = files.write("config", text.encode_utf16().flat_map(unit).collect::<Vec<u8>>());
        assert_eq!(cluster(&file).server(), "http://127.0.0.1:2");
    }
}

#[test]
fn without_a_variable_the_file_at_home_counts() {
    let files = Scratch::new();
    files.write("home/.kube/config", SECOND);
    let home = files.path("home").into_os_string().into_string().unwrap();
    assert_eq!(inferred(&files, &[("HOME", home)]).unwrap().server(), "http://127.0.0.1:2");
}

#[test]
fn a_pod_uses_its_service_account() {
    let files = Scratch::new();
    files.write("account/token", SECRET);
    files.write("account/ca.crt", super::certificates::Authority::new().pem);
    files.write("account/namespace", "kube-system\n");
    let host =
        |host: &str| [("KUBERNETES_SERVICE_HOST", host.to_owned()), ("KUBERNETES_SERVICE_PORT", "443".to_owned())];
    let cluster = inferred(&files, &host("10.0.0.1")).unwrap();
    assert_eq!((cluster.server(), cluster.namespace()), ("https://10.0.0.1:443", "kube-system"));
    assert_eq!(inferred(&files, &host("fd00::1")).unwrap().server(), "https://[fd00::1]:443");
}

/// As kubectl sends it.
#[test]
fn the_path_of_an_address_has_neither_empty_parts_nor_dots() {
    for (address, expected) in [
        ("https://x:6443//", "https://x:6443"),
        ("https://x//k8s//clusters/c-1/", "https://x/k8s/clusters/c-1"),
        ("HTTPS://X/a/./b/../c", "https://X/a/c"),
        ("https://x/../a%2Fb", "https://x/a%2Fb"),
        ("x:80/é", "http://x:80/%C3%A9"),
    ] {
        assert_eq!(Cluster::at(address).unwrap().server(), expected, "{address}");
    }
}

#[test]
fn where_there_is_nothing_the_error_says_what_was_tried() {
    let files = Scratch::new();
    let missing = files.path("nowhere/config");
    let error = inferred(&files, &[("KUBECONFIG", listed(&[&missing]))]).unwrap_err();
    assert!(error.is_missing());
    let error = error.to_string();
    let named = format!("KUBECONFIG names {}, which does not exist", missing.display());
    assert!(error.contains(&named) && error.contains("set KUBECONFIG"), "{error}");
    let pod = [("KUBERNETES_SERVICE_HOST", "10.0.0.1".to_owned()), ("KUBERNETES_SERVICE_PORT", "443".to_owned())];
    let error = inferred(&files, &pod).unwrap_err();
    assert!(!error.is_missing(), "there is a pod");
    let error = error.to_string();
    assert!(error.contains("account/token") && error.contains("automountServiceAccountToken"), "{error}");
    let error = options(&[]).kubeconfig(&missing).unwrap_err().to_string();
    assert!(error.starts_with("kubeconfig ") && error.contains("nowhere/config cannot be read"), "{error}");
}

#[test]
fn a_file_that_is_no_kubeconfig_is_refused_with_its_line() {
    let files = Scratch::new();
    for (text, expected) in [
        ("a: [1,\n", ":2: this YAML cannot be read"),
        ("current-context: x\nusers:\n- name: hunter2: x\n", ":3: this YAML cannot be read"),
        ("just text\n", ":1: this is no kubeconfig"),
        ("", " is empty"),
        ("kind: Config\n", "names no current context: it has no contexts; add one by `kubectl config set-context "),
        (
            "contexts: [{name: a}]\n",
            "names no current context: choose one of `a`; `kubectl config use-context NAME` sets",
        ),
        ("current-context: [x]\n", ":1: kubeconfig `` has a `current-context` that is no text"),
        ("current-context: x\ncontexts: {}\n", ":2: `contexts` is no list"),
        ("current-context: x\ncontexts: []\n", "has no context `x`: it has no contexts; add one by `kubectl config "),
        ("a: &a [*a]\n", ":1: "),
        ("kind: Pod\n", ":1: this is no kubeconfig: its `kind` is not Config"),
        ("a: 1\napiVersion: v2\n", ":2: this is no kubeconfig: its `apiVersion` is not v1"),
        (&*SECOND.replace("context: {", "context: {namespace: .., "), "has a `namespace` that is no name"),
        (&*SECOND.replace("context: {", "context: {namespace: a/../b, "), "has a `namespace` that is no name"),
        (&*SECOND.replace("context: {", "context: {namespace: a%2Fb, "), "has a `namespace` that is no name"),
        (&*SECOND.replace("name: prod\n", "name: dev\n"), ":5: `contexts` has another `dev` before"),
        (&*format!("{SECOND}- name: me\n"), ":12: `users` has another `me` before"),
    ] {
        let message = refusal(&files.write("config", text));
        assert!(message.contains(expected), "{text:?}: {message}");
        assert!(message.contains("config"), "{message}");
    }
    let binary = files.write("config", [0xff, 0, 1]);
    assert!(refusal(&binary).contains("cannot be read"), "{}", refusal(&binary));
}

#[test]
fn a_large_kubeconfig_of_short_texts_is_refused_in_limited_memory() {
    if measured().is_none() {
        measured_alone("configuration::a_large_kubeconfig_of_short_texts_is_refused_in_limited_memory", "");
        return;
    }
    let text = format!("current-context: x\nx: [{}]\n", "a,".repeat(8_000_000));
    let most = most_memory(|sample| {
        std::thread::scope(|scope| {
            let reading = scope.spawn(|| options(&[]).kubeconfig_text(&text).unwrap_err().to_string());
            while !reading.is_finished() {
                sample();
                std::thread::park_timeout(std::time::Duration::from_millis(1));
            }
            let error = reading.join().unwrap();
            assert!(error.starts_with("the given kubeconfig:2: ") && error.contains("64 MiB"), "{error}");
        });
    });
    assert!(most < 160 << 20, "{most} bytes more");
}

#[test]
fn an_unknown_name_is_refused_with_those_that_are_known() {
    let files = Scratch::new();
    let config = files.write("config", SECOND);
    let error = options(&[]).context("stage").kubeconfig(&config).unwrap_err().to_string();
    assert!(error.contains("no context `stage`: there are `prod`, `dev`"), "{error}");
    let message = refusal(&files.write("config", SECOND.replace("{name: prod, cluster:", "{name: other, cluster:")));
    assert!(message.contains(":3: context `prod` names the cluster `prod`, which is not there"), "{message}");
}

#[test]
fn entries_that_contradict_each_other_or_say_nothing_are_refused() {
    let files = Scratch::new();
    let server = "server: 'https://127.0.0.1:1'";
    let insecure = format!("{server}, insecure-skip-tls-verify: true, certificate-authority-data: eA==");
    for (cluster, user, expected) in [
        ("", "", "cluster `it` has no `server`"),
        ("server: [x]", "", "`server` that is no text"),
        (&insecure, "", "remove one of them"),
        ("server: 'https://x', insecure-skip-tls-verify: maybe", "", "neither true nor false"),
        ("server: 'https://x', certificate-authority-data: '?'", "", "not base64"),
        ("server: 'https://x', tls-server-name: 'a b', insecure-skip-tls-verify: true", "", "`tls-server-name`"),
        ("server: 'ftp://x:6443'", "", "the server's address is neither http nor https"),
        ("server: 'https://me:hunter2@x'", "", "a name or a password"),
        ("server: 'https:// hunter2'", "", "is not a URL"),
        ("server: 'https://x?token=hunter2'", "", "has a query"),
        ("server: 'http://x', proxy-url: 'ftp://me:hunter2@x'", "", "`proxy-url` is no URL of a proxy"),
        (server, "token: hunter2, username: x", "a token and a `username`"),
        (server, "client-certificate: x", "without a `client-key`"),
        ("server: 'https://x', certificate-authority: x, certificate-authority-data: eA==", "", "remove one of them"),
        (server, "client-certificate: x, client-certificate-data: eA==, client-key: x", "remove one of them"),
        (server, "client-certificate: x, client-key-data: eA==, client-key: x", "remove one of them"),
        (server, "token: hunter2, password: x", "a token and a `password`"),
        (server, "auth-provider: {name: gcp, config: {access-token: hunter2}}", "exec plugin of your provider"),
        (server, "auth-provider: {name: oidc, config: {refresh-token: hunter2}}", "without an `id-token`"),
        (server, "as-groups: [x]", "without `as`"),
        (server, "as: x, as-groups: x", "`as-groups` that is no list of texts"),
        (server, "exec: {command: x}", "neither client.authentication.k8s.io/v1 nor"),
        (server, "exec: {apiVersion: client.authentication.k8s.io/v1}", "without a `command`"),
        (
            server,
            "exec: {apiVersion: client.authentication.k8s.io/v1, command: x, interactiveMode: Always}",
            "needs a terminal",
        ),
        (
            server,
            "exec: {apiVersion: client.authentication.k8s.io/v1, command: x, interactiveMode: Sometimes}",
            "neither Never nor IfAvailable nor Always",
        ),
        ("server: 'http://x'", "token: \"hunter2\\nhunter2\"", "characters that are not allowed in a header"),
    ] {
        let message = refusal(&files.kubeconfig(cluster, user));
        assert!(message.contains(expected), "{cluster} {user}: {message}");
        assert!(message.contains("config:"), "{message}");
    }
}

#[test]
fn a_kubeconfig_that_comes_as_text_names_no_files() {
    let text = |cluster: &str, user: &str| {
        let cluster = format!("clusters: [{{name: it, cluster: {{server: 'https://127.0.0.1:1', {cluster}}}}}]");
        let context = "current-context: it\ncontexts: [{name: it, context: {cluster: it, user: me}}]";
        format!("{context}\n{cluster}\nusers: [{{name: me, user: {{{user}}}}}]\n")
    };
    let insecure = "insecure-skip-tls-verify: true";
    assert!(options(&[]).kubeconfig_text(&text(insecure, "token: hunter2")).is_ok());
    let plugin = |command: &str| {
        let exec = format!("exec: {{apiVersion: client.authentication.k8s.io/v1, command: {command}}}");
        options(&[]).kubeconfig_text(&text(insecure, &exec))
    };
    assert!(plugin("aws").is_ok());
    for refused in [
        plugin("./aws"),
        options(&[]).kubeconfig_text(&text("certificate-authority: /etc/passwd", "")),
        options(&[]).kubeconfig_text(&text(insecure, "tokenFile: /etc/passwd")),
        options(&[]).kubeconfig_text(&text(insecure, "client-certificate: a, client-key: b")),
    ] {
        let error = refused.unwrap_err().to_string();
        assert!(error.starts_with("the given kubeconfig:") && error.contains("names a file, which"), "{error}");
    }
    let error = options(&[]).kubeconfig_text("").unwrap_err().to_string();
    assert_eq!(error, "the given kubeconfig is empty");
    let error = options(&[]).kubeconfig_text(&" ".repeat((16 << 20) + 1)).unwrap_err().to_string();
    assert!(error.contains("larger than 16 MiB"), "{error}");
}

#[test]
fn an_address_that_is_none_is_refused_before_anything_is_asked() {
    for (address, expected) in [
        ("", "is not a URL"),
        ("http://", "is not a URL"),
        ("https://", "is not a URL"),
        ("https:///api", "is not a URL"),
        ("https://:6443", "names no host"),
        ("ftp://hunter2", "is neither http nor https"),
        ("/hunter2", "is not a URL"),
        ("hunter2:port", "has an invalid port"),
        ("https://hunter2 ", "is not a URL"),
        ("https://a b", "is not a URL"),
        ("https://hunter2:99999", "has an invalid port"),
        ("https://hunter2:0", "has an invalid port"),
        ("https://hunter2:", "has an invalid port"),
        ("https://hunter2:port", "has an invalid port"),
        ("https://[::1", "is not a URL"),
        ("https://x/#hunter2", "has a fragment"),
        ("https://x/?hunter2", "has a query"),
        ("https://me:hunter2@x", "contains a name or a password"),
    ] {
        let errors = [Cluster::at(address).map(drop), HttpTransport::new(address).map(drop)];
        for error in errors.map(Result::unwrap_err) {
            let shown = format!("{error} {error:?}");
            assert!(shown.starts_with("the given server: the server's address "), "{shown}");
            assert!(shown.contains(expected) && !shown.contains(SECRET), "{address}: {shown}");
        }
    }
    for address in
        ["http://localhost", "https://[::1]:6443/", "HTTPS://Example.com:443/a/b", "http://10.0.0.1:80", "x:6443"]
    {
        assert!(Cluster::at(address).is_ok(), "{address}");
    }
}

#[test]
fn no_credential_is_shown_by_what_can_be_printed() {
    let files = Scratch::new();
    let server = "server: 'http://127.0.0.1:1'";
    for user in ["token: hunter2", "username: me, password: hunter2", "tokenFile: token, token: hunter2"] {
        let cluster = cluster(&files.kubeconfig(server, user));
        let shown = format!("{cluster:?} {:?} {:?}", cluster.transport().unwrap(), cluster.clone());
        assert!(!shown.contains(SECRET), "{shown}");
        assert!(!shown.contains(&base64("me:hunter2")), "{shown}");
    }
}

#[test]
fn a_credential_over_plain_http_is_warned_of() {
    let files = Scratch::new();
    let warnings = |server: &str, user: &str| {
        let cluster = cluster(&files.kubeconfig(&format!("server: '{server}'"), user));
        cluster.warnings().iter().map(ToString::to_string).collect::<Vec<_>>()
    };
    let place = files.path("config");
    for user in ["token: hunter2", "username: me, password: hunter2", "tokenFile: token"] {
        let expected = format!(
            "{}:4: user `me`: the credential is sent to http://api.example:8080 without TLS, and can be read on the way; \
             use an https address",
            place.display()
        );
        assert_eq!(warnings("http://api.example:8080", user), [expected]);
    }
    for server in ["http://127.0.0.1:8001", "http://LOCALHOST:1", "http://[::1]:1", "https://api.example"] {
        assert_eq!(warnings(server, "token: hunter2"), [""; 0], "{server}");
    }
    assert_eq!(warnings("http://api.example", "as: jane"), [""; 0]);
}

#[test]
fn a_context_whose_user_is_not_there_is_anonymous_with_a_word() {
    let files = Scratch::new();
    let cluster = cluster(&files.write("config", SECOND.replace("name: me", "name: you")));
    let place = files.path("config");
    let expected = format!(
        "{}:3: context `prod` names the user `me`, which is not there: requests carry no credential",
        place.display()
    );
    assert_eq!(cluster.warnings().iter().map(ToString::to_string).collect::<Vec<_>>(), [expected]);
}

#[test]
fn an_entry_that_is_no_map_is_an_error_that_does_not_show_it() {
    let files = Scratch::new();
    for user in ["hunter2", "[hunter2]"] {
        let text = format!(
            "current-context: a\nclusters: [{{name: a, cluster: {{server: 'https://api.example'}}}}]\n\
            contexts: [{{name: a, context: {{cluster: a, user: a}}}}]\nusers: [{{name: a, user: {user}}}]\n"
        );
        let file = files.write("config", text);
        let error = options(&[]).kubeconfig(&file).unwrap_err().to_string();
        assert!(error.ends_with(":4: user `a` is no map"), "{error}");
    }
}

#[cfg(unix)]
#[test]
fn a_kubeconfig_that_others_may_write_is_warned_of() {
    use listwatch_transport_http::ConfigWarning;
    use std::os::unix::fs::{MetadataExt, PermissionsExt, chown};
    let files = Scratch::new();
    let file = files.kubeconfig("server: 'https://api.example', insecure-skip-tls-verify: true", "");
    let warnings = |mode: u32| {
        std::fs::set_permissions(&file, std::fs::Permissions::from_mode(mode)).unwrap();
        cluster(&file).warnings().to_vec()
    };
    let writable = |mode| [ConfigWarning::WritableKubeconfig { file: file.clone(), mode }];
    assert_eq!(warnings(0o644), []);
    assert_eq!(warnings(0o646), writable(0o646));
    let shown = writable(0o646)[0].to_string();
    assert!(shown.contains("config (mode 0646)") && shown.ends_with("chmod go-w"), "{shown}");
    // Only root may give a file to any group.
    let metadata = std::fs::metadata(&file).unwrap();
    assert_eq!(warnings(0o664).is_empty(), metadata.uid() == metadata.gid());
    if chown(&file, None, Some(metadata.uid() + 1)).is_ok() {
        assert_eq!(warnings(0o664), writable(0o664));
    }
}
