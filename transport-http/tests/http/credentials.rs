//! The credentials of requests.

use super::bad_answers::gzip;
use super::configuration::base64;
use super::support::{Client, EMPTY, SECRET, Scratch, Server, cluster, header, options, refusal, send};
use std::fs;
use std::io::Write;
use std::sync::mpsc::{self, Receiver};
use std::sync::{Arc, Mutex};

pub(crate) const REFUSED: &str = "HTTP/1.1 401 Unauthorized\r\nconnection: close\r\ncontent-length: 0\r\n\r\n";

/// A server that tells the heads of requests.
fn told() -> (Server, Receiver<String>) {
    let (heads, asked) = mpsc::channel();
    let server = Server::of(move |mut connection, head| {
        heads.send(head).unwrap();
        send(&mut connection, EMPTY);
    });
    (server, asked)
}

/// A server that accepts one token, which can be changed.
pub(crate) fn guarded(token: &str) -> (Server, Arc<Mutex<String>>) {
    let accepted = Arc::new(Mutex::new(token.to_owned()));
    let known = accepted.clone();
    let server = Server::of(move |mut connection, head| {
        let expected = format!("Bearer {}", known.lock().unwrap());
        let accepts = header(&head, "authorization") == Some(&expected);
        send(&mut connection, if accepts { EMPTY } else { REFUSED });
    });
    (server, accepted)
}

fn client(files: &Scratch, server: &Server, user: &str) -> Client {
    Client::to(&cluster(&files.kubeconfig(&format!("server: '{}'", server.url()), user)))
}

#[test]
fn a_user_is_named_by_a_token_or_by_a_password() {
    let (server, asked) = told();
    let files = Scratch::new();
    for (user, expected) in [
        ("token: 0123", "Bearer 0123".to_owned()),
        ("username: me, password: hunter2", format!("Basic {}", base64("me:hunter2"))),
        ("username: me", format!("Basic {}", base64("me:"))),
        ("token: x, exec: {apiVersion: client.authentication.k8s.io/v1, command: /no/such}", "Bearer x".to_owned()),
        ("token: x, client-key: /no/such", "Bearer x".to_owned()),
    ] {
        assert_eq!(client(&files, &server, user).list(), 200);
        assert_eq!(header(&asked.recv().unwrap(), "authorization"), Some(&*expected), "{user}");
    }
    assert_eq!(client(&files, &server, "").list(), 200);
    assert_eq!(header(&asked.recv().unwrap(), "authorization"), None);
}

/// As kubectl does: it looks at neither the user's credentials nor the cluster's TLS.
#[test]
fn without_tls_no_credential_is_sent_and_no_plugin_runs() {
    let (server, asked) = told();
    let files = Scratch::new();
    files.write("token", SECRET);
    let tls = "certificate-authority: nowhere, insecure-skip-tls-verify: true";
    let plugin = "exec: {apiVersion: client.authentication.k8s.io/v1, command: ./nowhere, interactiveMode: Always}";
    for address in [server.url(), server.url().to_uppercase(), server.address] {
        for user in ["token: hunter2", "username: me, password: hunter2", "tokenFile: token", plugin] {
            let file = files.kubeconfig(&format!("server: '{address}', {tls}"), &format!("{user}, as: jane"));
            let cluster = options(&[]).credentials_over_http(false).kubeconfig(&file).unwrap();
            let warnings: Vec<String> = cluster.warnings().iter().map(ToString::to_string).collect();
            assert_eq!(warnings.len(), 1);
            let warning = warnings[0].to_lowercase();
            assert!(warning.contains("user `me`: the credential is not sent, because http://"), "{warning}");
            assert_eq!(Client::to(&cluster).list(), 200);
            let head = asked.recv().unwrap();
            assert_eq!((header(&head, "authorization"), header(&head, "impersonate-user")), (None, Some("jane")));
        }
    }
}

#[test]
fn a_request_can_be_made_in_anothers_name() {
    let (server, asked) = told();
    let user = "as: jane, as-uid: '7', as-groups: [a, b], as-user-extra: {Reason/x: [on call, tired], scopes: [view]}";
    assert_eq!(client(&Scratch::new(), &server, user).list(), 200);
    let head = asked.recv().unwrap();
    let mut found: Vec<&str> = head.lines().filter(|line| line.starts_with("impersonate-")).collect();
    found.sort_unstable();
    assert_eq!(
        found,
        [
            "impersonate-extra-reason%2fx: on call",
            "impersonate-extra-reason%2fx: tired",
            "impersonate-extra-scopes: view",
            "impersonate-group: a",
            "impersonate-group: b",
            "impersonate-uid: 7",
            "impersonate-user: jane",
        ]
    );
    let files = Scratch::new();
    let file = files.kubeconfig(&format!("server: '{}'", server.url()), user);
    assert_eq!(Client::to(&options(&[]).impersonate("joe").kubeconfig(&file).unwrap()).list(), 200);
    let head = asked.recv().unwrap();
    let found: Vec<&str> = head.lines().filter(|line| line.starts_with("impersonate-")).collect();
    assert_eq!(found, ["impersonate-user: joe"]);
    let joe = options(&[]).impersonate("joe").impersonate_groups(["a", "b"]).token("t");
    assert_eq!(Client::to(&joe.kubeconfig(&file).unwrap()).list(), 200);
    let head = asked.recv().unwrap();
    let mut found: Vec<&str> = head.lines().filter(|line| line.starts_with("impersonate-")).collect();
    found.sort_unstable();
    assert_eq!(found, ["impersonate-group: a", "impersonate-group: b", "impersonate-user: joe"]);
    assert_eq!(header(&head, "authorization"), Some("Bearer t"));
}

#[test]
fn a_given_token_goes_before_that_of_the_kubeconfig_and_not_over_plain_http() {
    let (server, asked) = told();
    let files = Scratch::new();
    let file = files.kubeconfig(&format!("server: '{}'", server.url()), "token: other");
    for (allowed, expected) in [(true, Some("Bearer hunter2")), (false, None)] {
        let given = options(&[]).token(SECRET).credentials_over_http(allowed);
        for cluster in [given.kubeconfig(&file).unwrap(), given.at(&server.url()).unwrap()] {
            assert_eq!(Client::to(&cluster).list(), 200);
            assert_eq!(header(&asked.recv().unwrap(), "authorization"), expected);
            assert_eq!(cluster.warnings().iter().any(|it| it.to_string().contains("the given token")), !allowed);
            assert!(!format!("{cluster:?} {given:?}").contains(SECRET));
        }
    }
}

#[test]
fn a_token_that_was_renewed_in_its_file_is_used_without_a_failure() {
    let (server, accepted) = guarded("first");
    let files = Scratch::new();
    let token = files.write("token", "first\n");
    let mut client = client(&files, &server, "tokenFile: token");
    assert_eq!(client.list(), 200);
    *accepted.lock().unwrap() = "other".to_owned();
    // Nothing shows that the file has changed, except for what is in it.
    let times = fs::FileTimes::new().set_modified(fs::metadata(&token).unwrap().modified().unwrap());
    fs::write(&token, "other\n").unwrap();
    fs::File::options().write(true).open(&token).unwrap().set_times(times).unwrap();
    assert_eq!(client.list(), 200);
    fs::remove_file(token).unwrap();
    assert_eq!(client.list(), 200, "the last token stays good while the file is away");
    *accepted.lock().unwrap() = "third".to_owned();
    assert_eq!(client.list(), 401);
}

#[test]
fn an_id_token_is_used_while_it_is_valid_and_then_read_again() {
    let token = |seconds: u64| format!("e30.{}.c2ln", base64(&format!("{{\"exp\":{seconds:>11}}}")));
    let (valid, renewed, expired) = (token(4_102_444_800), token(4_102_444_801), token(1_000_000_000));
    let (server, accepted) = guarded(&valid);
    let files = Scratch::new();
    let user = |token: &str| format!("auth-provider: {{name: oidc, config: {{id-token: {token}, refresh-token: r}}}}");
    let mut client = client(&files, &server, &user(&valid));
    assert_eq!(client.list(), 200);
    // kubectl has renewed it.
    files.kubeconfig(&format!("server: '{}'", server.url()), &user(&renewed));
    *accepted.lock().unwrap() = renewed;
    assert_eq!(client.list(), 200);
    *accepted.lock().unwrap() = "none".to_owned();
    assert_eq!(client.list(), 401);
    let mut late = self::client(&files, &server, &user(&expired));
    late.open("/api/v1/pods");
    let error = late.error();
    assert!(error.detail.contains("user `me`: the `id-token` has expired"), "{error}");
}

#[test]
fn a_token_file_goes_before_a_token_which_helps_out() {
    let (server, _) = guarded("first");
    let files = Scratch::new();
    assert_eq!(client(&files, &server, "tokenFile: token, token: first").list(), 200);
    files.write("token", "second");
    assert_eq!(client(&files, &server, "tokenFile: token, token: first").list(), 401);
    files.write("token", "\n");
    assert_eq!(client(&files, &server, "tokenFile: token, token: first").list(), 200);
}

#[test]
fn a_token_file_that_cannot_be_used_is_named() {
    let (server, _) = guarded("first");
    let files = Scratch::new();
    let mut failing = client(&files, &server, "tokenFile: token");
    for (content, expected) in [
        (None, "token file "),
        (Some(" \n".as_bytes().to_vec()), "the token is empty"),
        (Some(b"hunter2\nhunter2".to_vec()), "characters that are not allowed in a header"),
        (Some(vec![0xff; 10]), "characters that are not allowed in a header"),
        (Some(vec![b'x'; 20_000]), "longer than 15360 bytes"),
        (Some(vec![b'x'; 5 << 20]), "token file "),
    ] {
        let files_of_case = content.map(|content| files.write("token", content));
        failing.open("/api/v1/pods");
        let error = failing.error();
        if files_of_case.is_some_and(|path| fs::metadata(path).unwrap().len() > 4 << 20) {
            // The last content stays valid.
            assert!(error.detail.contains("longer than"), "{error}");
            continue;
        }
        assert!(error.detail.contains(expected), "{error}");
        assert!(error.detail.contains("token"), "{error}");
    }
}

#[test]
fn a_bad_credential_is_blamed_on_the_line_of_its_user() {
    let files = Scratch::new();
    let long = "x".repeat(20_000);
    for (user, expected) in [
        ("token: \"hunter2\\nhunter2\"", "the token has characters that are not allowed in a header"),
        (&format!("token: {long}"), "the token is longer than 15360 bytes"),
        (&format!("username: me, password: {long}"), "the password is longer than 15360 bytes"),
        (
            "token: x, as: \"hunter2\\nhunter2\"",
            "the user to impersonate has characters that are not allowed in a header",
        ),
    ] {
        let file = files.kubeconfig("server: 'http://127.0.0.1:1'", user);
        assert_eq!(refusal(&file), format!("{}:4: user `me`: {expected}", file.display()));
    }
    let user = "tokenFile: missing, token: \"hunter2\\nhunter2\"";
    let mut client = Client::to(&cluster(&files.kubeconfig("server: 'http://127.0.0.1:1'", user)));
    client.open("/api/v1/pods");
    let error = client.error();
    assert!(error.detail.contains("config:4: user `me`: the token has characters"), "{error}");
}

/// An answer that echoes a request, body in chunks of so many bytes.
fn echo(status: &str, head: &str, len: usize) -> Vec<u8> {
    let page = format!("<html><pre>{}</pre></html>", head.replace("\r\n", "\n"));
    let mut answer = format!("HTTP/1.1 {status}\r\ncontent-type: text/html\r\n").into_bytes();
    let is_gzip = head.contains("accept-encoding: gzip") && len > 1000;
    let page = if is_gzip { gzip(page.as_bytes()) } else { page.into_bytes() };
    answer.extend(if is_gzip { &b"content-encoding: gzip\r\n"[..] } else { b"" });
    answer.extend(b"connection: close\r\ntransfer-encoding: chunked\r\n\r\n");
    for chunk in page.chunks(len) {
        answer.extend([format!("{:x}\r\n", chunk.len()).as_bytes(), chunk, b"\r\n"].concat());
    }
    answer.extend(b"0\r\n\r\n");
    answer
}

#[test]
fn an_answer_that_echoes_the_request_shows_no_token() {
    let files = Scratch::new();
    let pair = base64("me:hunter2");
    for (user, status, len) in [
        ("token: hunter2", "401 Unauthorized", 1),
        ("token: hunter2", "401 Unauthorized", 7),
        ("token: hunter2", "403 Forbidden", 10_000),
        ("username: me, password: hunter2", "401 Unauthorized", 10_000),
        ("username: me, password: hunter2", "502 Bad Gateway", 1),
        ("tokenFile: token", "200 OK", 10_000),
    ] {
        files.write("token", "hunter2\n");
        let server = Server::of(move |mut connection, head| connection.write_all(&echo(status, &head, len)).unwrap());
        for target in ["/api/v1/pods", "/api/v1/pods?watch=1"] {
            let mut client = client(&files, &server, user);
            client.open(target);
            let (_, body, end) = client.drain();
            assert_eq!(end, Ok(()));
            assert!(body.contains("[redacted]\n") && body.ends_with("</pre></html>"), "{body}");
            assert!(!body.contains(SECRET) && !body.contains(&pair), "{user}, {len}: {body}");
        }
    }
}

#[test]
fn a_list_or_watch_is_refused_by_any_status_but_200_and_shows_no_token() {
    for status in ["201 Created", "202 Accepted", "206 Partial Content", "299 Other"] {
        let body = r#"{"kind":"Status","status":"Failure","message":"bad token hunter2"}"#;
        let length = body.len();
        let answer =
            format!("HTTP/1.1 {status}\r\ncontent-type: application/json\r\ncontent-length: {length}\r\n\r\n{body}");
        let server = Server::saying(answer);
        for target in ["/api/v1/pods", "/api/v1/pods?watch=1"] {
            let mut client = client(&Scratch::new(), &server, "token: hunter2");
            client.open(target);
            let (_, body, _) = client.drain();
            assert!(body.contains("bad token [redacted]"), "{status}: {body}");
        }
    }
}

/// The connection is given up with what comes behind them.
#[test]
fn a_refusal_without_an_end_is_read_up_to_64_kib() {
    for target in ["/api/v1/pods", "/api/v1/pods?watch=1"] {
        let mut client = Client::of(|mut connection, _| {
            let _ = connection.write_all(b"HTTP/1.1 500 No\r\ncontent-length: 99999999999\r\n\r\n");
            while connection.write_all(&[b'x'; 4096]).is_ok() {}
        });
        client.open(target);
        let (status, body, end) = client.drain();
        assert_eq!((status, body.len(), end), (500, 64 * 1024, Ok(())));
    }
}

#[test]
fn a_refusal_does_not_give_a_client_its_token_back() {
    use listwatch_core::Resource;
    use listwatch_core::api::Api;
    let server = Server::of(|mut connection, head| connection.write_all(&echo("403 Forbidden", &head, 7)).unwrap());
    let files = Scratch::new();
    let file = files.kubeconfig(&format!("server: '{}'", server.url()), "token: hunter2");
    let api = Api::<serde_json::Value>::new(&Resource::named("v1/pods").unwrap());
    let error = api.get("it").send(&cluster(&file).client().unwrap()).unwrap_err();
    let shown = format!("{error} {error:?}");
    assert!(shown.contains("[redacted]") && !shown.contains(SECRET), "{shown}");
}

#[test]
fn a_redirection_to_the_token_is_told_without_it() {
    let answer = "HTTP/1.1 302 Found\r\nlocation: https://login.example/hunter2\r\ncontent-length: 0\r\n\r\n";
    let mut client = client(&Scratch::new(), &Server::saying(answer), "token: hunter2");
    client.open("/api/v1/pods");
    let error = client.error();
    assert!(error.detail.contains("https://login.example/[redacted],"), "{error}");
}

#[test]
fn a_pods_token_is_sent() {
    use super::certificates::Authority;
    let (authority, files) = (Authority::new(), Scratch::new());
    let (heads, asked) = mpsc::channel();
    let server = authority.issue(&["127.0.0.1"]).serve(None, move |mut stream, head| {
        heads.send(head).unwrap();
        send(&mut stream, EMPTY);
    });
    files.write("account/token", SECRET);
    files.write("account/ca.crt", &authority.pem);
    let port = server.address.rsplit_once(':').unwrap().1.to_owned();
    let env = move |name: &str| match name {
        "KUBERNETES_SERVICE_HOST" => Some("127.0.0.1".to_owned()),
        "KUBERNETES_SERVICE_PORT" => Some(port.clone()),
        _ => None,
    };
    let cluster = options(&[]).env(env).service_account(files.path("account")).infer().unwrap();
    assert_eq!(Client::to(&cluster).list(), 200);
    assert_eq!(header(&asked.recv().unwrap(), "authorization"), Some("Bearer hunter2"));
}
