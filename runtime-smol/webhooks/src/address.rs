//! Where the API server finds webhooks.

use serde_json::{Value, json};

/// Where the API server finds webhooks: a Service, or a URL.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Address(Target);

#[derive(Clone, Debug, PartialEq, Eq)]
enum Target {
    Service { namespace: String, name: String, port: u16 },
    Url(String),
}

impl Address {
    /// A Service, at its port 443.
    #[must_use]
    pub fn service(namespace: &str, name: &str) -> Self {
        Self(Target::Service { namespace: namespace.to_owned(), name: name.to_owned(), port: 443 })
    }

    /// The Service at another port.
    #[must_use]
    pub fn with_port(self, port: u16) -> Self {
        match self.0 {
            Target::Service { namespace, name, .. } => Self(Target::Service { namespace, name, port }),
            url @ Target::Url(_) => Self(url),
        }
    }

    /// A URL without a path, for webhooks outside of the cluster: `https://192.0.2.1:9443`.
    #[must_use]
    pub fn url(url: &str) -> Self {
        Self(Target::Url(url.trim_end_matches('/').to_owned()))
    }

    /// The names that the certificate is for.
    pub(crate) fn names(&self) -> Vec<String> {
        match &self.0 {
            Target::Service { namespace, name, .. } => vec![format!("{name}.{namespace}.svc")],
            Target::Url(url) => vec![host_of(url).to_owned()],
        }
    }

    /// The namespace of the Service.
    pub(crate) fn namespace(&self) -> Option<&str> {
        match &self.0 {
            Target::Service { namespace, .. } => Some(namespace),
            Target::Url(_) => None,
        }
    }

    /// The `clientConfig` of a webhook, with its bundle of authorities in base64.
    pub(crate) fn client_config(&self, path: &str, bundle: Option<&str>) -> Value {
        let mut config = match &self.0 {
            Target::Service { namespace, name, port } => {
                json!({ "service": { "namespace": namespace, "name": name, "port": port, "path": path } })
            }
            Target::Url(url) => json!({ "url": format!("{url}{path}") }),
        };
        bundle.into_iter().for_each(|bundle| config["caBundle"] = json!(bundle));
        config
    }
}

/// The host of a URL, without the brackets of IPv6.
fn host_of(url: &str) -> &str {
    let rest = url.split_once("://").map_or(url, |(_, rest)| rest);
    let authority = rest.split('/').next().unwrap_or_default();
    match authority.strip_prefix('[').and_then(|rest| rest.split_once(']')) {
        Some((address, _)) => address,
        None => authority.split(':').next().unwrap_or_default(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_certificate_is_for_the_name_by_which_the_server_calls() {
        assert_eq!(Address::service("prod", "sample").names(), ["sample.prod.svc"]);
        for (url, name) in
            [("https://a.example.com:1/", "a.example.com"), ("https://[::1]:1", "::1"), ("192.0.2.1", "192.0.2.1")]
        {
            assert_eq!(Address::url(url).names(), [name]);
        }
    }
}
