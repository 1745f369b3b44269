//! A kubeconfig under construction, and the files, variables and servers around it.

use crate::kubeconfigs::certificates::{P521, VERSION_1, certificates};
use crate::kubeconfigs::server::{Proxy, Role};
use base64::Engine;
use base64::prelude::BASE64_STANDARD;
use serde_json::{Map, Value, json};
use std::fs;
use std::path::{Path, PathBuf};

/// A map of a kubeconfig.
pub(super) type Entries = Map<String, Value>;

/// What a form makes of a kubeconfig: files by their names; `None` for one that is not there.
pub(super) type Files = Vec<(&'static str, Option<Vec<u8>>)>;

pub(super) struct Draft<'a> {
    pub(super) folder: &'a Path,
    pub(super) server_port: u16,
    pub(super) proxy_port: u16,
    pub(super) cluster: Entries,
    pub(super) user: Entries,
    pub(super) context: Entries,
    pub(super) env: Vec<(&'static str, String)>,
    pub(super) role: Role,
    pub(super) form: fn(Value) -> Files,
}

impl<'a> Draft<'a> {
    pub(super) fn new(folder: &'a Path, server_port: u16, proxy_port: u16) -> Self {
        let role = Role { certificate: Some("usual"), versions: rustls::ALL_VERSIONS, proxy: Proxy::Open };
        let (cluster, user, context, env) = (Map::new(), Map::new(), Map::new(), Vec::new());
        Self { folder, server_port, proxy_port, cluster, user, context, env, role, form: |_| Vec::new() }
    }

    pub(super) fn in_cluster(&mut self, key: &str, value: impl Into<Value>) {
        self.cluster.insert(key.to_owned(), value.into());
    }

    pub(super) fn in_user(&mut self, key: &str, value: impl Into<Value>) {
        self.user.insert(key.to_owned(), value.into());
    }

    pub(super) fn in_context(&mut self, key: &str, value: impl Into<Value>) {
        self.context.insert(key.to_owned(), value.into());
    }

    /// Makes `$` in an address the port of the server, and that the address of the cluster.
    pub(super) fn address(&mut self, address: &str) {
        self.in_cluster("server", address.replace('$', &self.server_port.to_string()));
    }

    /// An address that the proxy alone knows.
    pub(super) fn address_behind_proxy(&mut self, address: &str) {
        self.address(address);
        self.proxy("http://127.0.0.1:$");
    }

    /// Makes `$` the port of the proxy, and that `proxy-url`.
    pub(super) fn proxy(&mut self, url: &str) {
        let url = self.proxy_url(url);
        self.in_cluster("proxy-url", url);
    }

    /// Sets a variable, where `$` is the port of the proxy. Neither program asks a proxy for a loopback address, and
    /// 0.0.0.0 leads to this machine as well.
    pub(super) fn proxy_of_environment(&mut self, name: &'static str, url: &str) {
        if let Some(Value::String(server)) = self.cluster.get_mut("server") {
            *server = server.replace("127.0.0.1", "0.0.0.0");
        }
        self.env.push((name, self.proxy_url(url)));
    }

    fn proxy_url(&self, url: &str) -> String {
        url.replace('$', &self.proxy_port.to_string())
    }

    /// Writes a file, and returns its path.
    pub(super) fn file(&self, name: &str, content: impl AsRef<[u8]>) -> String {
        let path = self.folder.join(name);
        fs::write(&path, content).unwrap();
        path.to_str().unwrap().to_owned()
    }

    pub(super) fn path(&self, name: &str) -> PathBuf {
        self.folder.join(name)
    }

    /// Trusts the authority with this certificate.
    pub(super) fn trust(&mut self, pem: &str) {
        self.in_cluster("certificate-authority-data", packed(pem));
    }

    /// The server shows another certificate, which this authority issued.
    pub(super) fn serve(&mut self, certificate: &'static str) {
        // A server without TLS stays one.
        if self.role.certificate.is_some() {
            self.role.certificate = Some(certificate);
        }
        match certificate {
            "P-521" => self.trust(P521),
            "version 1" => self.trust(VERSION_1),
            "leaf" | "its own authority" => self.trust(&certificates().server(certificate).certificate),
            "of an expired authority" => {
                let chain = &certificates().server(certificate).certificate;
                self.trust(&chain[chain.rfind("-----BEGIN").unwrap()..]);
            }
            _ => self.trust(&certificates().authority),
        }
    }

    /// A plugin that prints `answer`; a shell script. It notes what it is told in the file `told`.
    pub(super) fn plugin(&mut self, answer: impl AsRef<[u8]>) {
        self.file("answer", answer);
        self.script("cat \"$folder/answer\"");
    }

    /// A plugin that ends with this command, in place of the usual token.
    pub(super) fn script(&mut self, last: &str) {
        self.user.remove("token");
        let script = format!(
            "folder='{}'\nprintf '%s\\t%s\\t%s\\n' \"$(printf %s \"$KUBERNETES_EXEC_INFO\")\" \"$VARIABLE\" \"$*\" >> \"$folder/told\"\n{last}\n",
            self.folder.display()
        );
        let script = self.file("plugin.sh", script);
        let exec = json!({
            "apiVersion": "client.authentication.k8s.io/v1",
            "command": "sh",
            "args": [script],
            "interactiveMode": "IfAvailable",
        });
        self.in_user("exec", exec);
    }

    /// Changes the plugin's entry; null removes a key.
    pub(super) fn in_exec(&mut self, key: &str, value: Value) {
        let Some(Value::Object(exec)) = self.user.get_mut("exec") else { panic!("a plugin") };
        match value {
            Value::Null => drop(exec.remove(key)),
            value => drop(exec.insert(key.to_owned(), value)),
        }
    }

    /// Writes the kubeconfig, and returns `$KUBECONFIG`.
    pub(super) fn write(&self) -> String {
        let part = |kind: &str, entries: &Entries| json!([{ "name": "it", kind: entries }]);
        let mut context = self.context.clone();
        context.insert("cluster".into(), "it".into());
        context.insert("user".into(), "it".into());
        let files = (self.form)(json!({
            "apiVersion": "v1",
            "kind": "Config",
            "current-context": "it",
            "contexts": part("context", &context),
            "clusters": part("cluster", &self.cluster),
            "users": part("user", &self.user),
        }));
        let paths = files.into_iter().map(|(name, content)| match content {
            Some(content) => self.file(name, content),
            None => self.folder.join(name).to_str().unwrap().to_owned(),
        });
        paths.collect::<Vec<_>>().join(":")
    }
}

/// In base64.
pub(super) fn packed(content: impl AsRef<[u8]>) -> String {
    BASE64_STANDARD.encode(content)
}
