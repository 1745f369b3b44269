//! Certificates that change while requests come.

use crate::client::Connection;
use crate::foos::{creation, webhooks};
use crate::program::{Program, VALIDATE, cluster, start, wait_for};
use listwatch_tests::scratch::Scratch;
use listwatch_webhooks::Certificates;
use rcgen::{CertificateParams, KeyPair};
use serde_json::json;
use std::collections::BTreeSet;
use std::fs;
use std::path::Path;
use std::time::{Duration, Instant};

/// A certificate for 127.0.0.1 that is its own authority, and its key.
fn pair() -> (String, String) {
    let key = KeyPair::generate().unwrap();
    let certificate = CertificateParams::new(["127.0.0.1".to_owned()]).unwrap().self_signed(&key).unwrap();
    (certificate.pem(), key.serialize_pem())
}

/// Puts files in place of others as a kubelet does: by one link.
fn mount(folder: &Path, number: u32, [certificate, key]: [&str; 2]) {
    let data = folder.join(format!("..data-{number}"));
    fs::create_dir_all(&data).unwrap();
    for (name, text) in [("tls.crt", certificate), ("tls.key", key), ("ca.crt", certificate)] {
        fs::write(data.join(name), text).unwrap();
    }
    let next = folder.join("..data_tmp");
    std::os::unix::fs::symlink(&data, &next).unwrap();
    fs::rename(&next, folder.join("..data")).unwrap();
    for name in ["tls.crt", "tls.key", "ca.crt"].into_iter().filter(|name| !folder.join(name).exists()) {
        std::os::unix::fs::symlink(Path::new("..data").join(name), folder.join(name)).unwrap();
    }
}

fn is_answered(program: &Program, authorities: &str) -> bool {
    Connection::open(program.address(), authorities).is_ok_and(|mut connection| is_allowed(&mut connection))
}

fn is_allowed(connection: &mut Connection) -> bool {
    connection.post(VALIDATE, &creation(&json!({})).to_string()).unwrap().response()["allowed"] == true
}

#[test]
fn files_that_a_kubelet_replaces_are_read_again() {
    let folder = Scratch::path("");
    let [(first, first_key), (second, second_key)] = [pair(), pair()];
    mount(folder.as_ref(), 1, [&first, &first_key]);
    let program = start(&cluster(), webhooks(), Certificates::from_folder(&folder));
    wait_for("the program is ready", || program.serving.ready_check()().is_ok());
    assert!(is_answered(&program, &first) && program.authorities() == first);
    let mut open = program.connect();
    assert!(is_allowed(&mut open));
    mount(folder.as_ref(), 2, [&second, &first_key]);
    wait_for("the pair does not fit", || program.reported("cannot be used together"));
    assert!(is_answered(&program, &first));
    mount(folder.as_ref(), 3, [&second, &second_key]);
    wait_for("the new pair is served", || is_answered(&program, &second));
    assert!(program.authorities() == second && !is_answered(&program, &first));
    assert!(is_allowed(&mut open), "an open connection goes on");
    fs::remove_dir_all(&folder).unwrap();
}

#[test]
fn replicas_rotate_their_certificates_and_every_client_trusts_each_of_them() {
    let certificates = Certificates::managed("web", "foos").lasting(Duration::from_secs(10));
    let cluster = cluster();
    let replicas = [(); 2].map(|()| start(&cluster, webhooks(), certificates.clone()));
    for replica in &replicas {
        wait_for("the replica is ready", || replica.serving.ready_check()().is_ok());
    }
    let (mut seen, begin) = (BTreeSet::new(), Instant::now());
    while seen.len() < 4 {
        assert!(begin.elapsed() < Duration::from_secs(60), "{} certificates", seen.len());
        for replica in &replicas {
            assert!(is_answered(replica, &replica.authorities()), "{:?}", replica.reports);
        }
        let secret = cluster.get("v1/secrets", "web/foos").unwrap();
        seen.insert(secret["data"]["tls.crt"].to_string());
    }
}
