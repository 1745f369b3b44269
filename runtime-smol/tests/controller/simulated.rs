//! What the recording of a simulated server has.

use crate::controller::WIDGETS;
use core::task::{Context, Poll, Waker};
use listwatch::api::{ApiRequest, ApiTransport, Method, Reply};
use listwatch::file::Playback;
use listwatch::request::{Request, RequestId};
use listwatch::time::Instant;
use listwatch::transport::ReadContext;
use listwatch_tests::scratch::Scratch;
use listwatch_tests::sim::{ApiLine, ApiServer, Dice, Trace, Troubles};

/// A capture in which it ended without having begun is no capture.
#[test]
fn a_call_given_up_before_its_first_poll_leaves_a_valid_capture() {
    let server = ApiServer::new(WIDGETS, Trace::new(true));
    let mut line = ApiLine::new(&server, Dice::new(1), Troubles::NONE, || Instant::ZERO);
    let request = ApiRequest::new(Method::Delete, format!("{WIDGETS}/a"));
    line.open(RequestId(1), &request);
    line.abort(RequestId(1));
    let capture = server.with(|inside| {
        // There is no playback without a list.
        inside.trace.request(Instant::ZERO, RequestId(0), &Request::parse(WIDGETS));
        inside.trace.end(Instant::ZERO, RequestId(0), None);
        inside.trace.capture().unwrap_or_default().to_owned()
    });
    let file = Scratch::path(".jsonl");
    std::fs::write(&file, &capture).unwrap();
    let mut client = Playback::from_file(&file).unwrap().client();
    client.open(RequestId(1), &request);
    let mut cx = Context::from_waker(Waker::noop());
    let turn = ReadContext { cx: &mut cx, now: Instant::ZERO, max_wait: None };
    assert_eq!(client.poll_response(RequestId(1), turn), Poll::Ready(Reply::Idle { until: None }));
}
