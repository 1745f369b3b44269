//! Conditions that the program adds.

use crate::endpoint::client::get;
use crate::endpoint::program::program;
use core::time::Duration;
use listwatch::endpoint::Endpoint;
use listwatch::metrics::Metrics;
use listwatch_tests::wait::wait_until;
use std::io::ErrorKind;
use std::sync::mpsc;

#[test]
fn a_check_that_fails_or_panics_is_named() {
    program(
        |builder| {
            let failing = builder.ready_check("database", || Err("no route to \u{7}db".into()));
            failing.ready_check("fine", || Ok(())).health_check("disk", || panic!("a message of a panic"))
        },
        |scene| async move {
            scene.pass(Duration::from_secs(10)).await;
            let ready = get(scene.address, "/readyz");
            assert_eq!((ready.status, ready.body.lines().count()), (503, 2), "{}", ready.body);
            assert!(ready.body.contains("\ndatabase: no route to ") && !ready.body.contains('\u{7}'), "{}", ready.body);
            let health = get(scene.address, "/healthz");
            let panicked = "not healthy\ndisk: its check panicked; the program's standard error says where\n";
            assert_eq!((health.status, &*health.body), (503, panicked));
            assert!(get(scene.address, "/debug/listwatch").body.contains("<li>database: no route to "));
        },
    );
}

#[test]
fn a_check_that_blocks_delays_no_other_path() {
    let (release, held) = mpsc::channel::<()>();
    let held = std::sync::Mutex::new(held);
    program(
        |builder| {
            builder.ready_check("stuck", move || {
                _ = held.lock().unwrap().recv();
                Ok(())
            })
        },
        |scene| async move {
            scene.pass(Duration::from_secs(10)).await;
            let address = scene.address;
            let waiting: Vec<_> = (0..3).map(|_| std::thread::spawn(move || get(address, "/readyz").status)).collect();
            assert_eq!(get(address, "/healthz").status, 200);
            assert_eq!(get(address, "/metrics").status, 200);
            drop(release);
            waiting.into_iter().for_each(|it| assert_eq!(it.join().unwrap(), 200));
        },
    );
}

#[test]
fn a_port_that_is_taken_is_named() {
    let endpoint = Endpoint::builder(&Metrics::new()).start(0).unwrap();
    let port = endpoint.address().port();
    let error = Endpoint::builder(&Metrics::new()).start(port).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::AddrInUse);
    assert!(error.to_string().starts_with(&format!("endpoint 127.0.0.1:{port}: ")), "{error}");
}

#[test]
fn the_port_is_free_again_after_the_drop() {
    let endpoint = Endpoint::builder(&Metrics::new()).start(0).unwrap();
    let address = endpoint.address();
    assert_eq!(get(address, "/healthz").status, 200);
    drop(endpoint);
    wait_until(|| Endpoint::builder(&Metrics::new()).start(address.port()).is_ok());
}
