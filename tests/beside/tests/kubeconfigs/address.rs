//! The address of the server. The certificates name 127.0.0.1, 0.0.0.0, localhost, cluster.test, ::1 and fd00::1.

use crate::kubeconfigs::draft::Draft;
use crate::kubeconfigs::rows::Choice;

pub(super) const ADDRESSES: &[Choice] = &[
    Choice::new("HTTPS", |draft| draft.address("https://127.0.0.1:$")),
    Choice::new("a slash at the end", |draft| draft.address("https://127.0.0.1:$/")),
    Choice::new("two slashes at the end", |draft| draft.address("https://127.0.0.1:$//")),
    Choice::new("a path", |draft| draft.address("https://127.0.0.1:$/k8s/clusters/c-1")).crossed(),
    Choice::new("a path and a slash", |draft| draft.address("https://127.0.0.1:$/prefix/")),
    Choice::new("a path with two slashes", |draft| draft.address("https://127.0.0.1:$//prefix//it")),
    Choice::new("a path with dots", |draft| draft.address("https://127.0.0.1:$/a/../b")),
    Choice::new("an encoded path", |draft| draft.address("https://127.0.0.1:$/a%2Fb%20c")),
    Choice::new("a path that is no ASCII", |draft| draft.address("https://127.0.0.1:$/é")),
    Choice::new("localhost", |draft| draft.address("https://localhost:$")),
    Choice::new("LOCALHOST", |draft| draft.address("https://LOCALHOST:$")),
    Choice::new("localhost with a dot", |draft| draft.address("https://localhost.:$")),
    Choice::new("upper-case scheme", |draft| draft.address("HTTPS://127.0.0.1:$")),
    Choice::new("HOST:PORT of TLS", |draft| draft.address("127.0.0.1:$")),
    Choice::new("HOST:PORT of plain HTTP", |draft| plain(draft, "127.0.0.1:$")).crossed(),
    Choice::new("NAME:PORT of plain HTTP", |draft| plain(draft, "localhost:$")),
    Choice::new("HOST:PORT and a slash", |draft| plain(draft, "127.0.0.1:$/")),
    Choice::new("HOST:PORT and a path", |draft| plain(draft, "127.0.0.1:$/prefix")),
    Choice::new("// and HOST:PORT", |draft| plain(draft, "//127.0.0.1:$")),
    Choice::new("plain HTTP", |draft| plain(draft, "http://127.0.0.1:$")).crossed(),
    Choice::new("plain HTTP with a path", |draft| plain(draft, "http://127.0.0.1:$/prefix/")),
    Choice::new("upper-case HTTP", |draft| plain(draft, "HTTP://127.0.0.1:$")),
    Choice::new("HTTP of a server of TLS", |draft| draft.address("http://127.0.0.1:$")),
    Choice::new("TLS of a server of HTTP", |draft| plain(draft, "https://127.0.0.1:$")),
    Choice::new("a name behind a proxy", |draft| draft.address_behind_proxy("https://cluster.test:6443")).crossed(),
    Choice::new("a name without a port", |draft| draft.address_behind_proxy("https://cluster.test")),
    Choice::new("HTTP without a port", |draft| {
        plain(draft, "");
        draft.address_behind_proxy("http://cluster.test");
    }),
    Choice::new("IPv6", |draft| draft.address_behind_proxy("https://[fd00::1]:6443")),
    Choice::new("IPv6 without a port", |draft| draft.address_behind_proxy("https://[::1]")),
    Choice::new("IPv6 without brackets", |draft| draft.address_behind_proxy("https://fd00::1")),
    Choice::new("IPv6 with a zone", |draft| draft.address_behind_proxy("https://[fe80::1%25lo]:6443")),
    Choice::new("a query", |draft| draft.address("https://127.0.0.1:$/?a=b")),
    Choice::new("a path and a query", |draft| draft.address("https://127.0.0.1:$/prefix?a=b")),
    Choice::new("a fragment", |draft| draft.address("https://127.0.0.1:$/prefix#a")),
    Choice::new("a name and a password", |draft| draft.address("https://me:pass@127.0.0.1:$")),
    Choice::new("another scheme", |draft| draft.address("ftp://127.0.0.1:$")),
    Choice::new("port 0", |draft| draft.address("https://127.0.0.1:0")),
    Choice::new("port 99999", |draft| draft.address("https://127.0.0.1:99999")),
    Choice::new("a port that is a word", |draft| draft.address("https://127.0.0.1:port")),
    Choice::new("a colon without a port", |draft| draft.address_behind_proxy("https://cluster.test:")),
    Choice::new("no host", |draft| draft.address("https://:$")),
    Choice::new("a blank before", |draft| draft.address(" https://127.0.0.1:$")),
    Choice::new("a blank behind", |draft| draft.address("https://127.0.0.1:$ ")),
    Choice::new("a line's end behind", |draft| draft.address("https://127.0.0.1:$\n")),
    Choice::new("a scheme alone", |draft| draft.address("https://")),
    Choice::new("a list for an address", |draft| draft.in_cluster("server", vec!["https://127.0.0.1"])),
];

fn plain(draft: &mut Draft<'_>, address: &str) {
    draft.role.certificate = None;
    draft.address(address);
}
