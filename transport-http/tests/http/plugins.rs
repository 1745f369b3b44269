//! Exec plugins: shell scripts of a line or two.
#![cfg(unix)]

use super::certificates::Authority;
use super::credentials::guarded;
use super::support::{Client, EMPTY, ID, PATIENCE, Scratch, Server, options, send, wait_until};
use listwatch_core::ListerWatcher;
use listwatch_core::transport::{TransportError, TransportErrorKind};
use std::fs;
use std::io::Read;
use std::path::Path;
use std::process::Command;
use std::sync::Arc;
use std::sync::mpsc::{self, Receiver};
use std::task::Poll;
use std::thread;
use std::time::Duration;

const V1: &str = "client.authentication.k8s.io/v1";

/// The output of a plugin with this status.
fn credential(status: &str) -> String {
    format!("printf '%s' '{{\"apiVersion\":\"{V1}\",\"kind\":\"ExecCredential\",\"status\":{{{status}}}}}'")
}

/// A client whose user has this plugin, with this time limit.
fn client(files: &Scratch, server: &str, limit: Duration, script: &str) -> Client {
    files.script("plugin", script);
    let exec = format!("exec: {{apiVersion: {V1}, command: ./plugin, interactiveMode: Never}}");
    let path = files.kubeconfig(&format!("server: '{server}'"), &exec);
    Client::to(&options(&[]).exec_timeout(limit).kubeconfig(path).unwrap())
}

fn failure(script: &str, limit: Duration) -> TransportError {
    let files = Scratch::new();
    let mut client = client(&files, "http://127.0.0.1:1", limit, script);
    client.open("/api/v1/pods");
    let error = client.error();
    assert_eq!(error.kind, TransportErrorKind::Credentials);
    assert!(error.detail.contains("user `me`: exec plugin `"), "{error}");
    error
}

#[test]
fn a_token_that_a_plugin_gave_is_used_until_the_server_refuses_it() {
    let (server, accepted) = guarded("t1");
    let files = Scratch::new();
    let count = "echo x >> \"$0.runs\"; n=$(wc -l < \"$0.runs\" | tr -d ' ')";
    let script = format!("{count}\n{}", credential("\"token\":\"t'$n'\""));
    let mut client = client(&files, &server.url(), PATIENCE, &script);
    let runs = || fs::read_to_string(files.path("plugin.runs")).unwrap().lines().count();
    assert_eq!((client.list(), client.list(), runs()), (200, 200, 1));
    *accepted.lock().unwrap() = "t2".to_owned();
    assert_eq!((client.list(), runs()), (200, 2));
    *accepted.lock().unwrap() = "none".to_owned();
    assert_eq!((client.list(), runs()), (401, 3), "asked once more, and no oftener");
}

#[test]
fn a_token_that_has_expired_is_renewed_before_it_is_used() {
    let (server, _) = guarded("t2");
    let files = Scratch::new();
    let count = "echo x >> \"$0.runs\"; n=$(wc -l < \"$0.runs\" | tr -d ' ')";
    let expired = "\"token\":\"t'$n'\",\"expirationTimestamp\":\"2020-01-01T00:00:00Z\"";
    let mut client = client(&files, &server.url(), PATIENCE, &format!("{count}\n{}", credential(expired)));
    // The first was refused, and renewed at once; the third run gives a token that is not known any more.
    assert_eq!(client.list(), 200);
    assert_eq!(fs::read_to_string(files.path("plugin.runs")).unwrap().lines().count(), 2);
}

#[test]
fn a_plugin_is_told_what_it_needs_to_know() {
    let files = Scratch::new();
    let (server, _) = guarded("x");
    let script =
        format!("echo \"$KUBERNETES_EXEC_INFO $1 $GREETING\" > \"$0.told\"\n{}", credential("\"token\":\"x\""));
    files.script("plugin", &script);
    let exec = format!(
        "exec: {{apiVersion: {V1}, command: ./plugin, args: [login], env: [{{name: GREETING, value: hello}}], \
         provideClusterInfo: true}}"
    );
    let authority = Authority::new().pem;
    files.write("ca.crt", &authority);
    let extension = "extensions: [{name: client.authentication.k8s.io/exec, extension: {audience: 7, b: 'true'}}]";
    let cluster =
        format!("server: '{}', certificate-authority: ca.crt, disable-compression: true, {extension}", server.url());
    let cluster = options(&[]).kubeconfig(files.kubeconfig(&cluster, &exec)).unwrap();
    assert_eq!(Client::to(&cluster).list(), 200);
    let told = fs::read_to_string(files.path("plugin.told")).unwrap();
    let info = told.strip_suffix(" login hello\n").unwrap();
    for expected in [
        "\"apiVersion\":\"client.authentication.k8s.io/v1\"",
        "\"interactive\":false",
        &format!("\"server\":\"{}\"", server.url()),
        &format!("\"certificate-authority-data\":\"{}\"", super::configuration::base64(&authority)),
        "\"config\":{\"audience\":7,\"b\":\"true\"}",
        "\"disable-compression\":true",
    ] {
        assert!(info.contains(expected), "{info}");
    }
}

#[test]
fn an_older_plugin_is_asked_in_its_own_version() {
    let files = Scratch::new();
    let (server, _) = guarded("x");
    let older = "client.authentication.k8s.io/v1beta1";
    let script = credential("\"token\":\"x\"").replace(V1, older);
    files.script("plugin", &format!("echo \"$KUBERNETES_EXEC_INFO\" > \"$0.told\"\n{script}"));
    let exec = format!("exec: {{apiVersion: {older}, command: ./plugin}}");
    let path = files.kubeconfig(&format!("server: '{}'", server.url()), &exec);
    assert_eq!(Client::to(&options(&[]).kubeconfig(path).unwrap()).list(), 200);
    let told = fs::read_to_string(files.path("plugin.told")).unwrap();
    assert!(told.contains(&format!("\"apiVersion\":\"{older}\"")), "{told}");
}

#[test]
fn a_plugin_that_is_not_there_is_explained_by_its_hint_in_one_line() {
    let files = Scratch::new();
    let exec =
        format!("exec: {{apiVersion: {V1}, command: ./missing, installHint: \"Get it:\\n\\n  from the shop.\\n\"}}");
    let path = files.kubeconfig("server: 'http://127.0.0.1:1'", &exec);
    let mut client = Client::to(&options(&[]).kubeconfig(path).unwrap());
    client.open("/api/v1/pods");
    let error = client.error();
    assert_eq!(error.kind, TransportErrorKind::Credentials);
    assert!(error.detail.contains("missing` cannot be started"), "{error}");
    assert!(error.detail.ends_with("; Get it:; from the shop."), "{error}");
}

#[test]
fn what_a_plugin_does_wrong_is_said_without_quoting_it() {
    for (script, expected) in [
        ("exit 3".to_owned(), "failed (exit status: 3)"),
        ("exec yes hunter2".to_owned(), "printed more than 1048576 bytes"),
        ("echo hunter2".to_owned(), "printed no ExecCredential"),
        ("echo '[hunter2'".to_owned(), "printed no ExecCredential: see line "),
        ("echo '{\"token\":\"hunter2\"}'".to_owned(), "printed no ExecCredential"),
        (
            "echo '{\"apiVersion\":\"hunter2\",\"kind\":\"ExecCredential\"}'".to_owned(),
            "other than an ExecCredential of",
        ),
        (credential("\"token\":[\"hunter2\"]"), "printed no ExecCredential"),
        (credential(""), "neither a token nor a client certificate"),
        (credential("\"clientKeyData\":\"hunter2\""), "without its key, or a key without a certificate"),
        (credential("\"token\":\"hunter2\",\"expirationTimestamp\":\"soon\""), "no RFC 3339 date"),
        (credential("\"token\":\"hunter2\",\"expirationTimestamp\":\"\""), "no RFC 3339 date"),
        (format!("{}\necho Bye", credential("\"token\":\"hunter2\"")), "printed no ExecCredential"),
        (format!("{0}\n{0}", credential("\"token\":\"hunter2\"")), "printed no ExecCredential"),
        (credential("\"token\":\"hunter2\\nhunter2\""), "the token has characters that are not allowed in a header"),
    ] {
        let error = failure(&script, PATIENCE);
        assert!(error.detail.contains(expected), "{script}: {error}");
    }
}

#[test]
fn a_plugin_that_does_not_end_is_told_by_its_time_limit() {
    for script in ["exec sleep 600", "exec >&-; exec sleep 600"] {
        let error = failure(script, Duration::from_millis(500));
        assert!(error.detail.contains("took longer than 500ms"), "{script}: {error}");
    }
}

#[test]
fn a_plugin_is_named_while_a_request_waits_for_it() {
    let (files, (server, _)) = (Scratch::new(), guarded("x"));
    let wait = "cd \"$(dirname \"$0\")\"; until test -e go; do sleep 0.01; done";
    let script = format!("{wait}\n{}", credential("\"token\":\"x\""));
    let mut waiting = client(&files, &server.url(), PATIENCE, &script);
    waiting.open("/api/v1/pods");
    assert_eq!(waiting.poll(), Poll::Pending);
    let waits_for = waiting.waits_for().unwrap();
    assert!(waits_for.contains("user `me`: exec plugin `"), "{waits_for}");
    assert!(waits_for.ends_with("plugin` has not answered yet"), "{waits_for}");
    files.write("go", "");
    assert_eq!(waiting.drain(), (200, "{}".to_owned(), Ok(())));
    assert_eq!(waiting.waits_for(), None);
}

/// Watches the processes that hold this pipe, a plugin and its children. It reports their start, and the end of the last.
fn life_of(pipe: &Path) -> Receiver<()> {
    assert!(Command::new("mkfifo").arg(pipe).status().unwrap().success());
    let (sender, told) = mpsc::channel();
    let pipe = pipe.to_owned();
    thread::spawn(move || {
        let mut pipe = fs::File::open(pipe).unwrap();
        sender.send(()).unwrap();
        assert_eq!(pipe.read(&mut [0]).unwrap(), 0);
        sender.send(()).unwrap();
    });
    told
}

/// A plugin that has started something that holds the pipe, and neither ends.
const ENDLESS: &str = "sleep 600 > \"$(dirname \"$0\")/pipe\"";
/// A time limit that ends before the plugin has started anything shows nothing: it gets more.
#[test]
fn what_a_plugin_has_started_does_not_outlive_its_time_limit() {
    let had_begun = [500, 3_000, 15_000].into_iter().any(|limit| {
        let files = Scratch::new();
        let life = life_of(&files.path("pipe"));
        let mut client = client(&files, "http://127.0.0.1:1", Duration::from_millis(limit), ENDLESS);
        client.open("/api/v1/pods");
        assert!(client.error().detail.contains("took longer than"));
        let begun = life.recv_timeout(Duration::from_secs(2)).is_ok();
        assert!(!begun || life.recv_timeout(PATIENCE).is_ok(), "it has not gone");
        begun
    });
    assert!(had_begun, "nothing was shown");
}

#[test]
fn a_plugin_ends_with_the_last_request_that_waits_for_it() {
    let give_up: [fn(Client); 3] = [
        drop,
        |mut client| client.transport.abort(ID),
        |mut client| {
            // Another request asks anew.
            client.open("/api/v1/nodes");
            drop(client);
        },
    ];
    for give_up in give_up {
        let files = Scratch::new();
        let life = life_of(&files.path("pipe"));
        files.script("plugin", ENDLESS);
        let exec = format!("exec: {{apiVersion: {V1}, command: ./plugin}}");
        let path = files.kubeconfig("server: 'http://127.0.0.1:1'", &exec);
        let cluster = options(&[]).exec_timeout(Duration::from_secs(600)).kubeconfig(path).unwrap();
        let mut client = Client::to(&cluster);
        client.open("/api/v1/pods");
        assert_eq!(life.recv_timeout(PATIENCE), Ok(()));
        give_up(client);
        assert_eq!(life.recv_timeout(PATIENCE), Ok(()), "it has gone");
    }
}

#[test]
fn a_plugin_is_not_lost_to_who_waits_by_another_who_gives_up() {
    let files = Scratch::new();
    let (server, _) = guarded("x");
    let wait = "cd \"$(dirname \"$0\")\"; touch begun; until test -e go; do sleep 0.01; done";
    files.script("plugin", &format!("{wait}\n{}", credential("\"token\":\"x\"")));
    let exec = format!("exec: {{apiVersion: {V1}, command: ./plugin}}");
    let path = files.kubeconfig(&format!("server: '{}'", server.url()), &exec);
    let cluster = options(&[]).kubeconfig(path).unwrap();
    let (mut hasty, mut patient) = (Client::to(&cluster), Client::to(&cluster));
    hasty.open("/api/v1/pods");
    wait_until(|| files.path("begun").exists());
    patient.open("/api/v1/pods");
    // By now it may wait for the same run, or ask for another; nothing tells which.
    hasty.transport.abort(ID);
    files.write("go", "");
    assert_eq!(patient.drain(), (200, "{}".to_owned(), Ok(())));
}

/// Runs itself again in a terminal that `script` makes, and types the answer.
#[test]
#[cfg(target_os = "linux")]
fn a_plugin_may_ask_somebody_at_the_terminal() {
    use listwatch_transport_http::ClusterOptions;
    use std::io::Write;
    use std::process::Stdio;

    const AGAIN: &str = "LISTWATCH_TEST_AT_A_TERMINAL";
    let name = "http::plugins::a_plugin_may_ask_somebody_at_the_terminal";
    if std::env::var_os(AGAIN).is_none() {
        let itself = format!("'{}' --exact {name} --nocapture", std::env::current_exe().unwrap().display());
        let mut command = Command::new("script");
        command.args(["--quiet", "--return", "--command", &itself, "/dev/null"]).env(AGAIN, "yes");
        let mut script = command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
        // Closed only when it is over: `script` takes the end of its input for the end of the session.
        let mut keyboard = script.stdin.take().unwrap();
        keyboard.write_all(b"typed\ntyped\n").unwrap();
        let mut screen = String::new();
        script.stdout.take().unwrap().read_to_string(&mut screen).unwrap();
        assert!(script.wait().unwrap().success() && screen.contains("1 passed"), "{screen}");
        return;
    }
    let files = Scratch::new();
    let (server, _) = guarded("typed");
    // A password is read from the terminal itself, which stops a background process.
    let script = format!(
        "read -r typed < /dev/tty; read -r info <<END\n$KUBERNETES_EXEC_INFO\nEND\n         test -t 0 || exit 3\ncase $info in *'\"interactive\":true'*) ;; *) exit 4;; esac\n{}",
        credential("\"token\":\"'$typed'\"")
    );
    files.script("plugin", &script);
    for mode in ["IfAvailable", "Always"] {
        let exec = format!("exec: {{apiVersion: {V1}, command: ./plugin, interactiveMode: {mode}}}");
        let path = files.kubeconfig(&format!("server: '{}'", server.url()), &exec);
        let options = ClusterOptions::new().env(|_| None).credentials_over_http(true);
        let cluster = options.kubeconfig(path).unwrap();
        assert_eq!(Client::to(&cluster).list(), 200, "{mode}");
    }
}

#[test]
fn a_client_certificate_can_come_from_a_plugin() {
    let (authority, files) = (Authority::new(), Scratch::new());
    let server = authority.issue(&["127.0.0.1"]).serve(Some(&authority), |mut stream, _| send(&mut stream, EMPTY));
    files.write("ca.crt", &authority.pem);
    let exec = format!("exec: {{apiVersion: {V1}, command: ./plugin}}");
    let entries = format!("server: 'https://{}', certificate-authority: ca.crt", server.address);
    let path = files.kubeconfig(&entries, &exec);
    let give = |certificate: &str, key: &str| {
        let data = |pem: &str| pem.replace('\n', "\\n");
        let status = format!("\"clientCertificateData\":\"{}\",\"clientKeyData\":\"{}\"", data(certificate), data(key));
        files.script("plugin", &credential(&status));
    };
    let me = authority.issue(&["me"]);
    give(&me.certificate, &me.key);
    assert_eq!(Client::to(&options(&[]).kubeconfig(&path).unwrap()).list(), 200);

    give(&me.certificate, &authority.issue(&["other"]).key);
    let mut mismatched = Client::to(&options(&[]).kubeconfig(&path).unwrap());
    mismatched.open("/api/v1/pods");
    let error = mismatched.error();
    assert!(error.detail.contains("does not fit the client certificate"), "{error}");
    assert!(!error.detail.contains("BEGIN"), "{error}");
    // It was blamed on the line of the cluster, which is the third.
    let place = format!("{}:4: user `me`: exec plugin `", path.display());
    assert!(error.detail.contains(&place) && !error.detail.contains("cluster `it`"), "{error}");
}

/// As with kubectl.
#[test]
fn a_plugin_does_not_run_beside_a_client_certificate() {
    let (authority, files) = (Authority::new(), Scratch::new());
    let server = authority.issue(&["127.0.0.1"]).serve(Some(&authority), |mut stream, _| send(&mut stream, EMPTY));
    let me = authority.issue(&["me"]);
    for (name, content) in [("ca.crt", &authority.pem), ("me.crt", &me.certificate), ("me.key", &me.key)] {
        files.write(name, content);
    }
    files.script("plugin", "touch \"$0.ran\"");
    let user = format!("client-certificate: me.crt, client-key: me.key, exec: {{apiVersion: {V1}, command: ./plugin}}");
    let entries = format!("server: 'https://{}', certificate-authority: ca.crt", server.address);
    let cluster = options(&[]).kubeconfig(files.kubeconfig(&entries, &user)).unwrap();
    assert_eq!(Client::to(&cluster).list(), 200);
    assert!(!files.path("plugin.ran").exists());
}

#[test]
fn a_plugin_runs_once_for_all_who_ask_at_the_same_time() {
    let files = Scratch::new();
    let server = Arc::new(Server::saying(EMPTY));
    let script = format!("echo x >> \"$0.runs\"; sleep 0.2\n{}", credential("\"token\":\"x\""));
    files.script("plugin", &script);
    let exec = format!("exec: {{apiVersion: {V1}, command: ./plugin}}");
    let cluster = options(&[]).kubeconfig(files.kubeconfig(&format!("server: '{}'", server.url()), &exec)).unwrap();
    let threads: Vec<_> = (0..8)
        .map(|_| {
            let cluster = cluster.clone();
            thread::spawn(move || assert_eq!(Client::to(&cluster).list(), 200))
        })
        .collect();
    for thread in threads {
        thread.join().unwrap();
    }
    assert_eq!(fs::read_to_string(files.path("plugin.runs")).unwrap().lines().count(), 1);
}
