//! Which servers are trusted, and what the server shows.

use crate::kubeconfigs::certificates::certificates;
use crate::kubeconfigs::draft::{Draft, packed};
use crate::kubeconfigs::rows::Choice;
use rustls::SupportedProtocolVersion;
use rustls::version::{TLS12, TLS13};

pub(super) const TRUSTS: &[Choice] = &[
    Choice::new("CA data", |draft| draft.serve("usual")),
    Choice::new("CA file", |draft| authority_file(draft, &certificates().authority)).crossed(),
    Choice::new("CA file, relative", |draft| {
        draft.file("ca.crt", &certificates().authority);
        draft.in_cluster("certificate-authority", "./ca.crt");
    }),
    Choice::new("CA file and data", |draft| {
        authority_file(draft, &certificates().other);
        draft.trust(&certificates().authority);
    }),
    Choice::new("CA file that is not there", |draft| draft.in_cluster("certificate-authority", "none.crt")),
    Choice::new("CA file that is empty", |draft| authority_file(draft, "")),
    Choice::new("CA file of garbage", |draft| authority_file(draft, "garbage")),
    Choice::new("no CA", |_| {}).crossed(),
    Choice::new("CA of the system", |draft| {
        let file = draft.file("system.crt", &certificates().authority);
        draft.env.push(("SSL_CERT_FILE", file));
    }),
    Choice::new("another CA", |draft| draft.trust(&certificates().other)),
    Choice::new("two CAs", |draft| {
        draft.trust(&format!("{}{}", certificates().other, certificates().authority));
    }),
    Choice::new("CA with text around", |draft| {
        draft.trust(&format!("# It:\n{}\ntext\n", certificates().authority));
    }),
    Choice::new("CA with CRLF", |draft| draft.trust(&certificates().authority.replace('\n', "\r\n"))),
    Choice::new("CA and a broken certificate", |draft| {
        let broken = "-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n";
        draft.trust(&format!("{broken}{}", certificates().authority));
    }),
    Choice::new("CA data of garbage", |draft| draft.trust("garbage")),
    Choice::new("CA data that is no base64", |draft| draft.in_cluster("certificate-authority-data", "?")),
    Choice::new("CA data without base64", |draft| {
        draft.in_cluster("certificate-authority-data", certificates().authority.clone());
    }),
    Choice::new("CA data that is empty", |draft| draft.in_cluster("certificate-authority-data", "")),
    Choice::new("CA data in lines", |draft| {
        let data = packed(&certificates().authority);
        let lines: Vec<&str> = data.as_bytes().chunks(64).map(|line| str::from_utf8(line).unwrap()).collect();
        draft.in_cluster("certificate-authority-data", lines.join("\n"));
    }),
    Choice::new("CA data with blanks", |draft| {
        let data = packed(&certificates().authority);
        let (one, other) = data.split_at(100);
        draft.in_cluster("certificate-authority-data", format!("{one} {other}"));
    }),
    Choice::new("CA data without padding", |draft| {
        let text = format!("{}\n", certificates().authority.trim_end());
        let text = if text.len() % 3 == 0 { text + "\n" } else { text };
        draft.in_cluster("certificate-authority-data", packed(text).trim_end_matches('=').to_owned());
    }),
    Choice::new("insecure", |draft| draft.in_cluster("insecure-skip-tls-verify", true)).crossed(),
    Choice::new("insecure, as text", |draft| draft.in_cluster("insecure-skip-tls-verify", "true")),
    Choice::new("insecure, as a number", |draft| draft.in_cluster("insecure-skip-tls-verify", 1)),
    Choice::new("not insecure", |draft| {
        draft.in_cluster("insecure-skip-tls-verify", false);
        draft.serve("usual");
    }),
    Choice::new("CA data and insecure", |draft| {
        draft.serve("usual");
        draft.in_cluster("insecure-skip-tls-verify", true);
    }),
    Choice::new("CA file and insecure", |draft| {
        authority_file(draft, &certificates().authority);
        draft.in_cluster("insecure-skip-tls-verify", true);
    }),
    Choice::new("tls-server-name", |draft| named(draft, "other name", "other.test")).crossed(),
    Choice::new("tls-server-name in capitals", |draft| named(draft, "other name", "OTHER.test")),
    Choice::new("tls-server-name with a dot", |draft| named(draft, "other name", "other.test.")),
    Choice::new("tls-server-name that is another", |draft| named(draft, "usual", "other.test")),
    Choice::new("tls-server-name that is an address", |draft| named(draft, "usual", "127.0.0.1")),
    Choice::new("tls-server-name that is none", |draft| named(draft, "usual", "a b")),
    Choice::new("tls-server-name of a wildcard", |draft| named(draft, "wildcard", "it.cluster.test")),
    Choice::new("tls-server-name below a wildcard", |draft| named(draft, "wildcard", "a.b.cluster.test")),
    Choice::new("tls-server-name, insecure", |draft| {
        draft.in_cluster("insecure-skip-tls-verify", true);
        draft.in_cluster("tls-server-name", "sent.test");
    }),
    Choice::new("expired", |draft| draft.serve("expired")),
    Choice::new("expired, insecure", |draft| {
        draft.role.certificate = draft.role.certificate.map(|_| "expired");
        draft.in_cluster("insecure-skip-tls-verify", true);
    }),
    Choice::new("not yet valid", |draft| draft.serve("early")),
    Choice::new("another name", |draft| draft.serve("other name")),
    Choice::new("no name", |draft| draft.serve("no name")),
    Choice::new("certificate of a client", |draft| draft.serve("of a client")),
    Choice::new("P-384", |draft| draft.serve("P-384")),
    Choice::new("P-521", |draft| draft.serve("P-521")),
    Choice::new("Ed25519", |draft| draft.serve("Ed25519")),
    Choice::new("RSA", |draft| draft.serve("RSA")),
    Choice::new("RSA, TLS 1.2", |draft| {
        draft.serve("RSA");
        draft.role.versions = TLS_1_2;
    }),
    Choice::new("TLS 1.2", |draft| {
        draft.serve("usual");
        draft.role.versions = TLS_1_2;
    }),
    Choice::new("TLS 1.3", |draft| {
        draft.serve("usual");
        draft.role.versions = TLS_1_3;
    }),
    Choice::new("authority of version 1", |draft| draft.serve("version 1")),
    Choice::new("self-signed", |draft| draft.serve("leaf")),
    Choice::new("its own authority", |draft| draft.serve("its own authority")),
    Choice::new("expired authority", |draft| draft.serve("of an expired authority")),
    Choice::new("chain", |draft| draft.serve("chain")),
    Choice::new("chain without its middle", |draft| draft.serve("below")),
];

static TLS_1_2: &[&SupportedProtocolVersion] = &[&TLS12];
static TLS_1_3: &[&SupportedProtocolVersion] = &[&TLS13];

fn authority_file(draft: &mut Draft<'_>, pem: &str) {
    let file = draft.file("ca.crt", pem);
    draft.in_cluster("certificate-authority", file);
}

fn named(draft: &mut Draft<'_>, certificate: &'static str, name: &str) {
    draft.serve(certificate);
    draft.in_cluster("tls-server-name", name);
}
