//! The way to the server: directly, or by a proxy of the kubeconfig or of the environment.

use crate::kubeconfigs::draft::Draft;
use crate::kubeconfigs::rows::Choice;
use crate::kubeconfigs::server::Proxy;

pub(super) const ROUTES: &[Choice] = &[
    Choice::new("direct", |_| {}),
    Choice::new("HTTP proxy", |draft| draft.proxy("http://127.0.0.1:$")),
    Choice::new("HTTP proxy, login", |draft| draft.proxy("http://me:pass@127.0.0.1:$")).crossed(),
    Choice::new("HTTP proxy, name alone", |draft| draft.proxy("http://me@127.0.0.1:$")),
    Choice::new("HTTP proxy, encoded login", |draft| draft.proxy("http://m%40e:p%3Ass%2F@127.0.0.1:$")),
    Choice::new("HTTP proxy, path", |draft| draft.proxy("http://127.0.0.1:$/path?a=b")),
    Choice::new("HTTP proxy, upper-case", |draft| draft.proxy("HTTP://127.0.0.1:$")),
    Choice::new("HTTP proxy by name", |draft| draft.proxy("http://localhost:$")),
    Choice::new("HTTPS proxy", |draft| over_tls(draft, "usual")).crossed(),
    Choice::new("HTTPS proxy that is not trusted", |draft| over_tls(draft, "leaf")),
    Choice::new("HTTPS proxy of another name", |draft| over_tls(draft, "other name")),
    Choice::new("SOCKS", |draft| draft.proxy("socks5://127.0.0.1:$")).crossed(),
    Choice::new("SOCKS, login", |draft| draft.proxy("socks5://me:pass@127.0.0.1:$")),
    Choice::new("SOCKS, encoded login", |draft| draft.proxy("socks5://m%40e:p%3Ass@127.0.0.1:$")),
    Choice::new("SOCKS, upper-case", |draft| draft.proxy("SOCKS5://127.0.0.1:$")),
    Choice::new("SOCKS with names", |draft| draft.proxy("socks5h://127.0.0.1:$")),
    Choice::new("SOCKS 4", |draft| draft.proxy("socks4://127.0.0.1:$")),
    Choice::new("SOCKS without a version", |draft| draft.proxy("socks://127.0.0.1:$")),
    Choice::new("proxy that is away", |draft| draft.proxy("http://127.0.0.1:1")),
    Choice::new("SOCKS that is away", |draft| draft.proxy("socks5://127.0.0.1:1")),
    Choice::new("proxy that refuses", |draft| {
        draft.proxy("http://127.0.0.1:$");
        draft.role.proxy = Proxy::Refusing;
    }),
    Choice::new("proxy without a scheme", |draft| draft.proxy("127.0.0.1:$")),
    Choice::new("proxy by name without a scheme", |draft| draft.proxy("localhost:$")),
    Choice::new("proxy of another scheme", |draft| draft.proxy("ftp://127.0.0.1:$")),
    Choice::new("proxy that is no address", |draft| draft.proxy("http://:$:")),
    Choice::new("proxy that is empty", |draft| draft.proxy("")),
    Choice::new("proxy and NO_PROXY", |draft| {
        draft.proxy("http://127.0.0.1:$");
        draft.env.push(("NO_PROXY", "*".into()));
    }),
    Choice::new("variable for loopback", |draft| draft.env.push(("HTTPS_PROXY", "http://127.0.0.1:1".into()))),
    Choice::new("HTTPS_PROXY", |draft| draft.proxy_of_environment("HTTPS_PROXY", "http://127.0.0.1:$")).crossed(),
    Choice::new("https_proxy", |draft| draft.proxy_of_environment("https_proxy", "http://127.0.0.1:$")),
    Choice::new("HTTPS_PROXY before https_proxy", |draft| {
        draft.proxy_of_environment("HTTPS_PROXY", "http://upper@127.0.0.1:$");
        draft.proxy_of_environment("https_proxy", "http://lower@127.0.0.1:$");
    }),
    Choice::new("HTTPS_PROXY without a scheme", |draft| draft.proxy_of_environment("HTTPS_PROXY", "127.0.0.1:$")),
    Choice::new("HTTPS_PROXY by name", |draft| draft.proxy_of_environment("HTTPS_PROXY", "localhost:$")),
    Choice::new("HTTPS_PROXY, login", |draft| {
        draft.proxy_of_environment("HTTPS_PROXY", "http://me:pass@127.0.0.1:$");
    }),
    Choice::new("HTTPS_PROXY of SOCKS", |draft| draft.proxy_of_environment("HTTPS_PROXY", "socks5://127.0.0.1:$")),
    Choice::new("HTTPS_PROXY of SOCKS with names", |draft| {
        draft.proxy_of_environment("HTTPS_PROXY", "socks5h://127.0.0.1:$");
    }),
    Choice::new("HTTPS_PROXY of garbage", |draft| draft.proxy_of_environment("HTTPS_PROXY", "ftp://127.0.0.1:$")),
    Choice::new("HTTPS_PROXY and proxy-url", |draft| {
        draft.proxy("http://of-the-file@127.0.0.1:$");
        draft.proxy_of_environment("HTTPS_PROXY", "http://of-the-environment@127.0.0.1:$");
    }),
    Choice::new("HTTP_PROXY", |draft| draft.proxy_of_environment("HTTP_PROXY", "http://127.0.0.1:$")),
    Choice::new("ALL_PROXY", |draft| draft.proxy_of_environment("ALL_PROXY", "http://127.0.0.1:$")),
    Choice::new("NO_PROXY of the host", |draft| except(draft, "NO_PROXY", "x, 0.0.0.0")),
    Choice::new("no_proxy of the host", |draft| except(draft, "no_proxy", "0.0.0.0")),
    Choice::new("NO_PROXY of all", |draft| except(draft, "NO_PROXY", "*")),
    Choice::new("NO_PROXY of a range", |draft| except(draft, "NO_PROXY", "0.0.0.0/8")),
    Choice::new("NO_PROXY of another range", |draft| except(draft, "NO_PROXY", "10.0.0.0/8")),
    Choice::new("NO_PROXY of the port", |draft| {
        let exception = format!("0.0.0.0:{}", draft.server_port);
        except(draft, "NO_PROXY", &exception);
    }),
    Choice::new("NO_PROXY of another port", |draft| except(draft, "NO_PROXY", "0.0.0.0:1")),
    Choice::new("NO_PROXY of a suffix", |draft| except(draft, "NO_PROXY", ".0")),
];

fn over_tls(draft: &mut Draft<'_>, certificate: &'static str) {
    draft.proxy("https://127.0.0.1:$");
    draft.role.proxy = Proxy::Tls(certificate);
}

fn except(draft: &mut Draft<'_>, name: &'static str, exceptions: &str) {
    draft.proxy_of_environment("HTTPS_PROXY", "http://127.0.0.1:$");
    draft.env.push((name, exceptions.to_owned()));
}
