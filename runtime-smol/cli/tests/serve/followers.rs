//! Our own informers that follow a served capture from its start. `tests/beside/tests/serve` has those of others.

use crate::command::command;
use crate::notifications::{Notifications, client_go};
use crate::serve::child::Program;
use crate::serve::serving::{Serving, with_each_capture};

/// By a watch-list, and by lists and watches.
#[test]
fn listwatch_itself_tells_each_notification_of_the_recording() {
    for options in ["", "--no-watch-list"] {
        with_each_capture(|name, resource, _| {
            let mut server = Serving::capture(name, "--speed 20");
            let mut watch = command(["watch", "--print", "events", "--format", "json", "--server", &server.url]);
            watch.args(options.split_whitespace()).arg(format!("v1/{resource}"));
            let mut watch = Program::start(watch);
            let expected = client_go(name);
            watch.wait_for_lines(expected.all().count());
            server.wait_for_the_end();
            let (status, lines, complaints) = watch.end_by("-INT");
            assert_eq!(status.code(), Some(0), "{complaints:?}");
            Notifications::read(&lines.join("\n")).assert_same(&expected, &format!("{name} {options}"));
        });
    }
}
